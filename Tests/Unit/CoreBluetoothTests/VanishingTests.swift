import Atto
import Foundation
import TestSupport
import Testing

@testable import AttoCoreBluetooth

/// A peer that vanishes at each stage of each operation: each call has one callback, in the order of
/// the calls and with an error if the peer did not answer in time. `didDisconnectPeripheral` is the last.
@Suite(.oneByOne) struct VanishingTests {
  /// The calls, in order, and the log entry of each callback.
  private static let expected = [
    "services", "services", "included", "characteristics", "descriptors", "value 2A37",
    "written FF01", "written 2A37", "notifying 2A37", "descriptor ", "described", "rssi",
    "notifying 2A37", "value FF01",
  ]

  /// Discovers the attributes for the calls, while the peer answers.
  private func ready(
    _ name: String, on loop: Loop = RadioLoop.loop
  ) async throws -> (ScriptedPeer, Watch) {
    let peer = try await ScriptedPeer(name, on: loop)
    let watch = Watch(Sandbox.radio(), for: name)
    try await watch.log.next("state poweredOn")
    watch.manager.scanForPeripherals(withServices: [CBUUID(string: "180D")])
    try await watch.log.next("found")
    watch.manager.stopScan()
    try await connect(watch)
    return (peer, watch)
  }

  private func connect(_ watch: Watch) async throws {
    try watch.manager.connect(watch.peripheral)
    try await watch.log.next("connected")
    let peripheral = try watch.peripheral
    peripheral.delegate = watch
    peripheral.discoverServices([CBUUID(string: "180D")])
    try await watch.log.next("services [\"180D\"] well")
    peripheral.discoverCharacteristics(nil, for: try #require(peripheral.services?.first))
    try await watch.log.next("characteristics 2 well")
    try peripheral.discoverDescriptors(for: watch.characteristic("2A37"))
    try await watch.log.next("descriptors [\"2902\", \"2901\"] well")
  }

  /// Makes all calls on the callback queue: no callback may come from within a call.
  private func callAll(_ watch: Watch) throws -> Int {
    let peripheral = try watch.peripheral
    let rate = try watch.characteristic("2A37")
    let point = try watch.characteristic("FF01")
    let service = try #require(rate.service)
    let text = try #require(rate.descriptors?.last)
    return watch.queue.sync {
      let before = watch.log.all.count
      peripheral.discoverServices(nil)
      peripheral.discoverServices([CBUUID(string: "180D"), CBUUID(string: "180F")])
      peripheral.discoverIncludedServices(nil, for: service)
      peripheral.discoverCharacteristics(nil, for: service)
      peripheral.discoverDescriptors(for: rate)
      peripheral.readValue(for: rate)
      peripheral.writeValue(Data([1]), for: point, type: .withResponse)
      peripheral.writeValue(Data(count: 60), for: rate, type: .withResponse)
      peripheral.setNotifyValue(true, for: rate)
      peripheral.readValue(for: text)
      peripheral.writeValue(Data("x".utf8), for: text)
      peripheral.readRSSI()
      peripheral.setNotifyValue(false, for: rate)
      peripheral.readValue(for: point)
      #expect(watch.log.all.count == before, "called back from within a call")
      return before
    }
  }

  /// The new callbacks, when all have arrived.
  private func settled(_ watch: Watch, since count: Int) async -> [String] {
    for _ in 0..<5 {
      await Task { @RadioLoop in await Task.yield() }.value
      await withCheckedContinuation { continuation in
        watch.queue.async { continuation.resume() }
      }
    }
    return Array(watch.log.all[count...])
  }

  /// - Returns: the number of calls that succeeded.
  @discardableResult
  private func checkCallbacks(_ entries: [String], _ what: String) -> Int {
    // The name is reported when it is known, independent of the calls.
    let entries = entries.filter { !$0.hasPrefix("name") }
    let callbacks = entries.dropLast()
    #expect(entries.last?.hasPrefix("disconnected CBError") == true, "\(what): \(entries)")
    #expect(callbacks.count == Self.expected.count, "\(what): \(entries)")
    var well = 0
    var hasFailed = false
    for (callback, expected) in zip(callbacks, Self.expected) {
      #expect(callback.hasPrefix(expected), "\(what): \(callback) and not \(expected)")
      // The signal strength needs no request.
      if callback == "rssi 127" {
        hasFailed = true
      } else if callback.hasSuffix(" CBError 7") {
        hasFailed = true
      } else {
        #expect(callback.hasSuffix(" well") || callback.hasPrefix("rssi"), "\(what): \(callback)")
        #expect(!hasFailed, "\(what): \(callback) after one that failed: \(entries)")
        well += 1
      }
    }
    return well
  }

  /// Values that arrive before the app is told of its subscription are reported after it, in order.
  @Test func valuesFollowTheSubscription() async throws {
    let (peer, watch) = try await ready("Hasty")
    peer.begin(ScriptedPeer.Plan(aheadOfWritten: (1...3).map { [0x1B, 0x13, 0, $0] }))
    let before = watch.log.all.count
    try watch.peripheral.setNotifyValue(true, for: watch.characteristic("2A37"))
    try await watch.log.next("value 2A37 [3]")
    let told = watch.log.all[before...].filter { !$0.hasPrefix("name") }
    #expect(
      told.map { $0.prefix { $0 != " " } } == ["notifying", "value", "value", "value"], "\(told)")
    peer.end()
  }

  @Test(arguments: [ScriptedPeer.Vanishing.unanswered, .answered])
  func atEveryRequestOfEveryOperation(_ how: ScriptedPeer.Vanishing) async throws {
    let (peer, watch) = try await ready("Vanishing \(how)")
    // A complete run first, to count the requests.
    peer.begin(ScriptedPeer.Plan())
    let before = try callAll(watch)
    try await watch.log.next("value FF01")
    let count = peer.state.value.counted
    #expect(count >= 30, "\(peer.state.value.requests)")
    #expect(
      watch.log.all[before...].filter { $0.hasSuffix("well") }.count == Self.expected.count - 1)
    peer.vanish()
    try await watch.log.next("disconnected CBError 7")
    var last = 0
    for place in 0..<count {
      try await connect(watch)
      peer.begin(ScriptedPeer.Plan(after: place, how: how))
      let before = try callAll(watch)
      try await watch.log.next("disconnected")
      let entries = await settled(watch, since: before)
      let well = checkCallbacks(entries, "request \(place), \(how)")
      #expect(well >= last, "request \(place), \(how): \(entries)")
      last = well
      peer.begin(ScriptedPeer.Plan())
    }
    #expect(last >= Self.expected.count - 1)
    peer.end()
  }

  /// The link has ended and the app, which does not know yet, makes calls.
  @Test func beforeTheRequest() async throws {
    let (peer, watch) = try await ready("Vanished before")
    peer.begin(ScriptedPeer.Plan())
    let peripheral = try watch.peripheral
    let rate = try watch.characteristic("2A37")
    let point = try watch.characteristic("FF01")
    let remote = peripheral.remote
    // The app is busy, so that it gets no callbacks.
    await watch.queue.suspendFromWithin()
    peer.vanish()
    while await Task(operation: { @RadioLoop in remote.isConnected }).value { await Task.yield() }
    #expect(peripheral.state == .connected)
    let before = watch.log.all.count
    peripheral.readValue(for: rate)
    peripheral.setNotifyValue(true, for: rate)
    peripheral.writeValue(Data([1]), for: rate, type: .withResponse)
    peripheral.writeValue(Data([1]), for: point, type: .withoutResponse)
    peripheral.discoverServices(nil)
    peripheral.readRSSI()
    peripheral.openL2CAPChannel(0x80)
    watch.queue.resume()
    try await watch.log.next("disconnected")
    let entries = await settled(watch, since: before).filter { !$0.hasPrefix("name") }
    #expect(entries.count == 7, "\(entries)")
    #expect(entries.first?.hasPrefix("value 2A37") == true)
    #expect(entries.dropLast().allSatisfy { $0.hasSuffix("CBError 7") || $0 == "rssi 127" })
    #expect(entries.last == "disconnected CBError 7")
    // After it: a warning and no callback.
    peripheral.readValue(for: rate)
    peripheral.readRSSI()
    peripheral.openL2CAPChannel(0x80)
    #expect(await settled(watch, since: before).filter { !$0.hasPrefix("name") } == entries)
    #expect(peripheral.maximumWriteValueLength(for: .withoutResponse) == 20)
    #expect(peripheral.maximumWriteValueLength(for: .withResponse) == 512)
    #expect(!peripheral.canSendWriteWithoutResponse)
    peer.end()
  }

  /// Writes without response wait for room that never comes.
  @Test func whileWritesWaitForRoom() async throws {
    let (peer, watch) = try await ready("Vanishing deaf")
    peer.begin(ScriptedPeer.Plan(isDeaf: true))
    let point = try watch.characteristic("FF01")
    // More than the socket accepts: it is full when none was sent for a while.
    for _ in 0..<4000 {
      try watch.peripheral.writeValue(Data(count: 20), for: point, type: .withoutResponse)
    }
    #expect(try !watch.peripheral.canSendWriteWithoutResponse)
    let before = watch.log.all.count
    try watch.peripheral.readValue(for: point)
    peer.vanish()
    peer.begin(ScriptedPeer.Plan())
    try await watch.log.next("disconnected")
    let entries = await settled(watch, since: before).filter { !$0.hasPrefix("name") }
    #expect(entries.last == "disconnected CBError 7", "\(entries)")
    #expect(entries.filter { $0.hasPrefix("value") }.count == 1, "\(entries)")
    #expect(try !watch.peripheral.canSendWriteWithoutResponse)
    peer.end()
  }

  /// Links that are lost before their first response: the attempt fails once.
  @Test func whileConnecting() async throws {
    let (peer, watch) = try await ready("Vanishing early")
    peer.vanish()
    try await watch.log.next("disconnected")
    peer.begin(ScriptedPeer.Plan(refusesToBegin: true))
    let before = watch.log.all.count
    let links = peer.state.value.links
    try watch.manager.connect(watch.peripheral)
    try await watch.log.next("failed")
    #expect(peer.state.value.links == links + 1 + SharedLink.lossLimit)
    #expect(await settled(watch, since: before) == ["failed CBError 7"])
    #expect(try watch.peripheral.state == .disconnected)
    // It can be connected again.
    peer.begin(ScriptedPeer.Plan())
    try await connect(watch)
    peer.end()
  }

  /// A manager that is released during calls: no callbacks come, though peripheral and delegate still
  /// exist; async calls throw an error.
  @Test func managersReleasedDuringCalls() async throws {
    let (peer, watch) = try await ready("Released")
    peer.begin(ScriptedPeer.Plan(isDeaf: true))
    let peripheral = try watch.peripheral
    let carried = try UncheckedBox((peripheral, watch.characteristic("2A37")))
    let reading = Task { try await carried.content.0.read(carried.content.1) }
    while peripheral.shown.value.calls.isEmpty { await Task.yield() }
    let before = try callAll(watch)
    watch.releaseManager()
    await #expect(throws: CBError(.operationCancelled)) { _ = try await reading.value }
    peer.begin(ScriptedPeer.Plan())
    #expect(await settled(watch, since: before).filter { !$0.hasPrefix("name") }.isEmpty)
    #expect(peripheral.state == .disconnected)
    peripheral.readValue(for: carried.content.1)
    #expect(await settled(watch, since: before).filter { !$0.hasPrefix("name") }.isEmpty)
    peer.end()
  }

  /// A central that vanishes with an unanswered request, a prepared write that is not executed, and a
  /// full queue of updates.
  @Test func vanishingCentrals() async throws {
    let strap = Strap(Sandbox.radio(), name: "Left alone")
    let watch = Watch(Sandbox.radio(), for: "Left alone")
    try await watch.getReady()
    let rate = try #require(try watch.characteristic("2A37").found).valueHandle.rawValue
    let place = try #require(try watch.characteristic("FF05").found).valueHandle.rawValue
    let silent = UInt8(place)
    try watch.manager.cancelPeripheralConnection(watch.peripheral)
    try await watch.log.next("disconnected well")
    guard case .air(let name?) = Sandbox.radio() else { return }
    let adapter = try Adapter.virtual(name: name, loop: RadioLoop.loop)
    let connected = try await adapter.connect(to: watch.peripheral.remote.address, timeout: nil)
    let link = await Task { @RadioLoop in UncheckedBox(connected.unwrap()) }.value
    func send(_ pdu: [UInt8]) async {
      await Task { @RadioLoop in _ = try? link.content.send(pdu.span.bytes) }.value
    }
    // A subscription, a part of a write, a read. Nothing is received.
    await send([0x12, UInt8(rate + 1), 0, 1, 0])
    try await strap.log.next("subscribed 2A37")
    await send([0x16, silent, 0, 0, 0, 1, 2, 3])
    await send([0x0A, silent, 0])
    try await strap.log.next("read FF05")
    var taken = 0
    while taken < 100_000,
      strap.manager.updateValue(Data(count: 20), for: strap.rate, onSubscribedCentrals: nil)
    {
      taken += 1
      await Task { @RadioLoop in }.value
    }
    #expect(taken < 100_000)
    await Task { @RadioLoop in link.content.close() }.value
    try await strap.log.next("unsubscribed 2A37")
    if !strap.log.all.contains("ready") { try await strap.log.next("ready") }
    #expect(strap.rate.subscribedCentrals?.isEmpty == true)
    #expect(strap.manager.updateValue(Data([1]), for: strap.rate, onSubscribedCentrals: nil))
    // A late answer does no harm, and the write did not happen.
    strap.manager.respond(to: try #require(strap.kept.value.first), withResult: .success)
    strap.kept.value = []
    #expect(strap.log.all.filter { $0.hasPrefix("unsubscribed") }.count == 1)
    #expect(!strap.log.all.contains { $0.hasPrefix("write FF05") })
    // The next central finds the initial state.
    try watch.manager.connect(watch.peripheral)
    try await watch.log.next("connected")
    #expect(try await watch.peripheral.discoverAll().count == 1)
    await adapter.close()
  }

  /// The stage at which a peer vanishes while a channel is opened.
  enum ChannelStage: CaseIterable {
    /// It has not read the request.
    case asked
    /// It requires an encrypted link, and pairing waits for an answer.
    case pairing
    /// It has accepted the channel.
    case taken
  }

  @Test(arguments: ChannelStage.allCases)
  func whileAChannelIsOpened(_ stage: ChannelStage) async throws {
    let loop = try Loop(name: "vanishing")
    Thread.detachNewThread { loop.run() }
    defer { loop.stop() }
    let (peer, watch) = try await ready("Vanishing \(stage)", on: loop)
    let asked = Locked(0)
    let isOver = DispatchSemaphore(value: 0)
    if stage == .pairing { try await peer.adapter.setAgent(SilentAgent(asked)) }
    let published = try await peer.adapter.publishChannel(requiresEncryption: stage == .pairing)
    if stage == .taken {
      Task(executorPreference: loop.tasks) {
        for await _ in published.channels { peer.vanish() }
      }
    }
    let peripheral = try watch.peripheral
    let rate = try watch.characteristic("2A37")
    if stage == .asked {
      loop.execute {
        asked.value = 1
        isOver.wait()
      }
      while asked.value == 0 { await Task.yield() }
    }
    let before = watch.queue.sync {
      let before = watch.log.all.count
      peripheral.openL2CAPChannel(published.psm)
      peripheral.openL2CAPChannel(published.psm)
      peripheral.readValue(for: rate)
      #expect(watch.log.all.count == before, "called back from within a call")
      return before
    }
    switch stage {
    case .asked:
      // The pairing request is usually sent after some turns of the loop.
      for _ in 0..<20 { await Task { @RadioLoop in await Task.yield() }.value }
      peer.vanish()
    case .pairing:
      while asked.value == 0 { await Task.yield() }
      peer.vanish()
    case .taken: break
    }
    try await watch.log.next("disconnected")
    isOver.signal()
    let entries = await settled(watch, since: before).filter { !$0.hasPrefix("name") }
    let lost = "channel CBError 7"
    if stage == .taken {
      // The progress is not known; each call has one callback.
      let channels = entries.filter { $0.hasPrefix("channel") }
      let well = channels.prefix { $0 == "channel \(published.psm) well" }
      #expect(channels.count == 2, "\(entries)")
      #expect(channels.dropFirst(well.count).allSatisfy { $0 == lost }, "\(entries)")
      #expect(entries.filter { $0.hasPrefix("value 2A37") }.count == 1, "\(entries)")
      #expect(entries.last == "disconnected CBError 7", "\(entries)")
      #expect(entries.count == 4, "\(entries)")
    } else {
      #expect(
        entries == [lost, lost, "value 2A37 [] of 0 CBError 7", "disconnected CBError 7"],
        "\(stage)")
    }
    if let channel = watch.channel.value {
      // The channel was opened, and has ended.
      channel.inputStream.open()
      var octet: UInt8 = 0
      #expect(channel.inputStream.read(&octet, maxLength: 1) <= 0)
    }
    // The peer can be connected again, with channels.
    if stage == .asked {
      try await connect(watch)
      try watch.peripheral.openL2CAPChannel(published.psm)
      try await watch.log.next("channel \(published.psm) well")
    }
    peer.end()
  }

  /// Using a characteristic after the end of the connection is an error, but not a misuse.
  @Test func awaitedTooLate() async throws {
    let (peer, watch) = try await ready("Too late")
    let characteristic = try watch.characteristic("2A37")
    peer.vanish()
    try await watch.log.next("disconnected")
    let peripheral = try watch.peripheral
    let read = await error { _ = try await peripheral.read(characteristic) }
    #expect(read as? CBError == CBError(.notConnected))
    let written = await error { try await peripheral.write(Data([1]), to: characteristic) }
    #expect(written as? CBError == CBError(.notConnected))
    let notified = await error {
      for try await _ in peripheral.notifications(for: characteristic) {}
    }
    #expect(notified as? CBError == CBError(.notConnected))
    peer.end()
  }

  /// The manager is released before the end of the connection is reported: no callback comes, but
  /// async calls throw.
  @Test func awaitedWithoutAManager() async throws {
    let (peer, watch) = try await ready("No manager")
    let carried = try UncheckedBox((watch.peripheral, watch.characteristic("2A37")))
    let remote = try watch.peripheral.remote
    peer.begin(ScriptedPeer.Plan(isDeaf: true))
    let reading = Task<Data, any Error> { try await carried.content.0.read(carried.content.1) }
    while carried.content.0.shown.value.calls.isEmpty { await Task.yield() }
    await watch.queue.suspendFromWithin()
    peer.vanish()
    while await Task(operation: { @RadioLoop in remote.link != nil }).value { await Task.yield() }
    watch.releaseManager()
    #expect(carried.content.0.manager == nil)
    watch.queue.resume()
    await #expect(throws: CBError(.peripheralDisconnected)) { _ = try await reading.ended() }
    #expect(!watch.log.all.contains { $0.hasPrefix("disconnected") })
    peer.end()
  }

  /// Async calls have one result each, too.
  @Test(arguments: 0..<6) func whileAwaited(_ place: Int) async throws {
    let (peer, watch) = try await ready("Awaited \(place)")
    peer.begin(ScriptedPeer.Plan(after: place))
    let carried = try UncheckedBox((watch.peripheral, watch.characteristic("2A37")))
    let errors = await withTaskGroup(of: (any Error)?.self) { group in
      group.addTask { await error { _ = try await carried.content.0.discoverAll() } }
      group.addTask { await error { _ = try await carried.content.0.read(carried.content.1) } }
      group.addTask {
        await error { try await carried.content.0.write(Data(count: 60), to: carried.content.1) }
      }
      return await group.reduce(into: []) { $0.append($1) }
    }
    #expect(errors.count == 3)
    #expect(errors.contains { $0 != nil })
    // A sequence that begins after the end throws.
    for case let error? in errors {
      let isEnd = [CBError(.peripheralDisconnected), CBError(.notConnected)].contains(
        error as? CBError)
      #expect(isEnd, "\(error)")
    }
    peer.end()
  }
}

/// A pairing agent that never answers.
private final class SilentAgent: PairingAgent {
  private let asked: Locked<Int>
  let capability = PairingCapability.keyboardDisplay

  init(_ asked: Locked<Int>) { self.asked = asked }

  func accepts(_ peer: BluetoothAddress) async -> Bool {
    asked.withLock { $0 += 1 }
    try? await Task.sleep(for: .seconds(600))
    return false
  }
}

private func error(_ body: () async throws -> Void) async -> (any Error)? {
  do {
    try await body()
    return nil
  } catch {
    return error
  }
}
