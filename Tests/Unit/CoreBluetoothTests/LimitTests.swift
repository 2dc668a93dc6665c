import Atto
import AttoRadio
import Foundation
import TestSupport
import Testing

@testable import AttoCoreBluetooth

/// The limits of queues and tables, for apps, peers and scans that exceed them.
@Suite(.oneByOne) struct CoreBluetoothLimitTests {
  private struct TimedOut: Error { let condition: String }

  /// Waits until a condition holds on the radio's loop.
  private func reach(
    _ what: String, _ condition: @escaping @RadioLoop @Sendable () -> Bool
  ) async throws {
    let deadline = ContinuousClock.now + .seconds(30)
    while await !Task(operation: { @RadioLoop in condition() }).value {
      guard .now < deadline else { throw TimedOut(condition: what) }
      await Task.yield()
    }
  }

  /// Runs `body` while a queue is suspended. A suspended queue must not be released.
  private func suspending(_ queue: DispatchQueue, _ body: () async throws -> Void) async throws {
    await queue.suspendFromWithin()
    defer { queue.resume() }
    try await body()
  }

  /// A connected peer whose notifications are subscribed to.
  private func subscribed(_ name: String) async throws -> (ScriptedPeer, Watch) {
    let peer = try await ScriptedPeer(name)
    let watch = Watch(Sandbox.radio(), for: name)
    try await watch.getReady()
    try watch.peripheral.setNotifyValue(true, for: watch.characteristic("2A37"))
    try await watch.log.next("notifying 2A37 true well")
    return (peer, watch)
  }

  // MARK: Values to apps

  @Test func slowAppHoldsThePeerBack() async throws {
    let (peer, watch) = try await subscribed("Flood")
    let remote = try watch.peripheral.remote
    try await suspending(watch.queue) {
      peer.flood(0x13, 6000)
      try await reach("held back") { remote.link?.isHeldBack == true }
      let (count, dropped) = await Task { @RadioLoop in
        (remote.link?.undelivered.value, remote.link?.dropped)
      }.value
      #expect(count == SharedLink.valueLimit)
      #expect(dropped == 0)
    }
    for number in 0..<6000 {
      let value = try await watch.log.next("value 2A37")
      try #require(value == "value 2A37 [\(number & 0xFF), \(number >> 8)] of 2 well")
    }
    peer.end()
  }

  /// A response may follow the values, so the link is read further up to a limit.
  @Test func valuesBeforeAResponseAreDropped() async throws {
    let (peer, watch) = try await subscribed("Flood before")
    let remote = try watch.peripheral.remote
    peer.begin(ScriptedPeer.Plan(isDeaf: true))
    // The peer still reads the first request.
    for _ in 0..<2 { try watch.peripheral.readValue(for: watch.characteristic("FF01")) }
    try await watch.log.next("value FF01 [7] of 1 well")
    try await reach("awaited") { peer.hasUnread }
    let limit = 4 * SharedLink.valueLimit
    try await suspending(watch.queue) {
      peer.flood(0x13, 6000)
      try await reach("dropped") { remote.link?.dropped == 6000 - limit }
      #expect(await Task { @RadioLoop in remote.link?.undelivered.value }.value == limit)
    }
    for number in 0..<limit {
      let value = try await watch.log.next("value 2A37")
      try #require(value == "value 2A37 [\(number & 0xFF), \(number >> 8)] of 2 well")
    }
    peer.begin(ScriptedPeer.Plan())
    #expect(try await watch.log.next("value") == "value FF01 [7] of 1 well")
    peer.end()
  }

  @Test func slowLoopHoldsThePeerBack() async throws {
    let (peer, watch) = try await subscribed("Flood of a loop")
    let (gate, opening) = AsyncStream.makeStream(of: Void.self)
    let isAtGate = Locked(false)
    let carried = try UncheckedBox((watch.peripheral, watch.characteristic("2A37")))
    let values = Task {
      var values: [Data] = []
      for try await value in carried.content.0.notifications(for: carried.content.1) {
        if values.isEmpty {
          isAtGate.value = true
          for await _ in gate { break }
        }
        values.append(value)
        if values.count == 3001 { break }
      }
      return values
    }
    while try watch.peripheral.shown.value.listeners.isEmpty { await Task.yield() }
    let remote = try watch.peripheral.remote
    // The loop has the first value, which does not count, before the others come.
    peer.flood(0x13, 1)
    try await reach("the gate") { isAtGate.value }
    peer.flood(0x13, 3000)
    try await reach("held back") { remote.link?.isHeldBack == true }
    #expect(
      await Task { @RadioLoop in remote.link?.undelivered.value }.value == SharedLink.valueLimit)
    opening.yield()
    let received = try await values.ended()
    let isWhole =
      received == [Data([0, 0])] + (0..<3000).map { Data([UInt8($0 & 0xFF), UInt8($0 >> 8)]) }
    #expect(isWhole)
    #expect(await Task { @RadioLoop in remote.link?.dropped }.value == 0)
    peer.end()
  }

  @Test func tooLongMessages() throws {
    var framing = MessageFraming(limit: 10)
    let ten = Data(count: 10)
    for piece in MessageFraming.pieces(of: ten, size: 3).dropLast() {
      #expect(try framing.receive(piece).isEmpty)
    }
    #expect(try framing.receive(Data(count: 2)) == [ten])
    #expect(throws: MessageFraming.TooLong(length: 11, limit: 10)) {
      _ = try framing.receive(MessageFraming.pieces(of: Data(count: 11), size: 4)[0])
    }
    #expect(throws: MessageFraming.TooLong(length: Int(UInt32.max), limit: 1_048_576)) {
      var usual = MessageFraming()
      _ = try usual.receive(Data([0xFF, 0xFF, 0xFF, 0xFF]))
    }
  }

  // MARK: Values from apps

  @Test func writesBeyondTheHardLimitAreDropped() async throws {
    let (peer, watch) = try await subscribed("Deaf")
    let peripheral = try watch.peripheral
    peer.begin(ScriptedPeer.Plan(isDeaf: true))
    let point = try watch.characteristic("2A37")
    var count = 0
    while peripheral.shown.value.droppedCommands == 0, count < 20_000 {
      peripheral.writeValue(Data(count: 20), for: point, type: .withoutResponse)
      count += 1
    }
    #expect(count > CBPeripheral.commandHardLimit)
    #expect(peripheral.shown.value.droppedCommands == 1)
    #expect(peripheral.shown.value.commands <= CBPeripheral.commandHardLimit)
    #expect(!peripheral.canSendWriteWithoutResponse)
    peer.begin(ScriptedPeer.Plan())
    // There may have been room once before the peer stopped reading.
    repeat {
      try await watch.log.next("room")
    } while peripheral.shown.value.commands > CBPeripheral.commandLimit / 2
    #expect(peripheral.canSendWriteWithoutResponse)
    peer.end()
  }

  @Test func queuedUpdates() {
    let ready = Locked(0)
    let window = UpdateWindow { ready.withLock { $0 += 1 } }
    var tickets = (0..<UpdateWindow.limit).map { _ in window.reserve() }
    #expect(tickets.allSatisfy { $0 != nil })
    #expect(window.reserve() == nil)
    // isReady is called once, when half of the places are free, and only after a refusal.
    tickets.removeLast(UpdateWindow.limit / 2 - 1)
    #expect(ready.value == 0)
    tickets.removeLast()
    #expect(ready.value == 1)
    tickets.removeAll()
    #expect(ready.value == 1)
    #expect(window.reserve() != nil)
  }

  @Test func slowAppHoldsTheCentralBack() async throws {
    let name = "Slow strap"
    let strap = Strap(Sandbox.radio(), name: name)
    let watch = Watch(Sandbox.radio(), for: name)
    try await watch.getReady()
    let engine = strap.manager.engine
    let count = 2000
    try await suspending(strap.queue) {
      for number in 0..<count {
        try watch.peripheral.writeValue(
          Data([UInt8(number & 0xFF), UInt8(number >> 8)]), for: watch.characteristic("FF03"),
          type: .withoutResponse)
      }
      try await reach("held back") {
        engine.radio?.host.commands.values.contains(PeripheralHost.commandLimit) == true
      }
      // Commands that are not read remain at the central.
      #expect(try !watch.peripheral.canSendWriteWithoutResponse)
    }
    try watch.peripheral.writeValue(
      Data([1]), for: watch.characteristic("2A39"), type: .withResponse)
    try await watch.log.next("written 2A39 well")
    let whole = Data((0..<count).flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] })
    let isWhole = strap.received.value == whole
    #expect(isWhole, "\(strap.received.value.count) octets were received")
    #expect(await engine.radio?.host.commands.values.allSatisfy { $0 == 0 } == true)
  }

  // MARK: Scanning

  private static func discovery(_ number: Int, _ name: String) -> Discovery {
    Discovery(
      address: BluetoothAddress(UInt64(0xC0_00_00_00_00_00 + number)), rssi: -50,
      isConnectable: true, advertisement: [UInt8(name.utf8.count + 1), 0x09] + name.utf8,
      scanResponse: [])
  }

  private func scanning() async throws -> Watch {
    let watch = Watch(Sandbox.radio(), for: "Many")
    try await watch.log.next("state poweredOn")
    watch.manager.scanForPeripherals(withServices: [CBUUID(string: "FEED")])
    return watch
  }

  @Test func slowAppLosesDiscoveries() async throws {
    let watch = try await scanning()
    let engine = watch.manager.engine
    try await suspending(watch.queue) {
      await Task { @RadioLoop in
        for number in 0..<CentralEngine.discoveryLimit + 100 {
          engine.handle(.found(Self.discovery(number, "Many")), ScanRequest(number: 1))
        }
      }.value
    }
    watch.queue.sync {}
    #expect(watch.log.all.count { $0.hasPrefix("found") } == CentralEngine.discoveryLimit)
  }

  @Test func slowLoopLosesDiscoveries() async throws {
    let handover = AsyncQueue<Int>(limit: 3)
    for number in 0..<5 { handover.add(number) }
    handover.finish()
    var taken: [Int] = []
    while let number = try await handover.next() { taken.append(number) }
    #expect(taken == [0, 1, 2])
  }

  /// Devices that change their addresses and never announce their end.
  @Test func reportedDevices() async throws {
    let watch = try await scanning()
    let engine = watch.manager.engine
    let counts = await Task { @RadioLoop in
      var counts: [Int] = []
      for number in 0...CentralEngine.reportedLimit {
        engine.handle(.found(Self.discovery(number, "Other")), ScanRequest())
        if number >= CentralEngine.reportedLimit - 1 { counts.append(engine.reported.count) }
      }
      return counts
    }.value
    #expect(counts == [CentralEngine.reportedLimit, 1])
  }

  @Test func watchedDevices() {
    let start = ContinuousClock.now
    for isToldOfEnds in [false, true] {
      var presence = Presence(after: .seconds(4), isToldOfEnds: isToldOfEnds)
      for number in 0...Presence.limit {
        presence.received(BluetoothAddress(UInt64(number)), at: start)
      }
      let last = BluetoothAddress(UInt64(Presence.limit))
      // A device that is not watched has gone when the radio says so.
      let areWatched = [BluetoothAddress(0), last].map { presence.ended($0, at: start) }
      #expect(areWatched == [true, false])
      let gone = presence.removeGone(at: start + .seconds(5))
      #expect(gone.count == (isToldOfEnds ? 1 : Presence.limit))
      #expect(!gone.contains(last))
    }
  }

  // MARK: Tables and records

  @Test func peersInMemory() {
    var table = KnownPeers.Table()
    let first = UUID()
    table.met(first, "C0:00:00:00:00:01", name: "One", rssi: -50)
    for _ in 1..<KnownPeers.memoryLimit { table.met(UUID(), "", name: nil, rssi: -60) }
    table.met(first, "C0:00:00:00:00:01", name: nil, rssi: nil)
    #expect(table.met.count == KnownPeers.memoryLimit)
    #expect(table.met[first]?.peer.name == "One")
    table.met(UUID(), "", name: nil, rssi: -60)
    #expect(table.met.count == 1)
  }

  @Test func recordsOnDisk() {
    _ = Sandbox.radio()
    // A kind of its own, so that other tests keep their records.
    let keys = (0...SavedState.recordLimit).map { SavedState.Key(kind: .limit, name: "\($0)") }
    for key in keys { SavedState.shared.write(Data([1]), to: key) }
    // A record that is saved again is not the oldest any more.
    #expect(SavedState.shared.read(keys[0]) == nil)
    SavedState.shared.write(Data([2]), to: keys[1])
    #expect(SavedState.shared.read(keys[1]) == Data([2]))
    SavedState.shared.write(Data([1]), to: keys[0])
    #expect(SavedState.shared.read(keys[2]) == nil)
    #expect(SavedState.shared.read(keys[1]) == Data([2]))
    for key in keys { SavedState.shared.write(nil, to: key) }
    #expect(SavedState.shared.read(keys[1]) == nil)
  }

  @Test func servicesOfPeers() {
    var table = KnownPeers.Table()
    let peer = UUID()
    table.met(peer, "C0:00:00:00:00:01", name: nil, rssi: nil)
    for number in UInt16(1)...300 { table.add([BluetoothUUID(number)], of: peer) }
    #expect(table.met[peer]?.services.count == KnownPeers.serviceLimit)
    table.add([0x180D], of: UUID())
    #expect(table.met.count == 1)
  }

  @Test func preferredConnectionParameters() async {
    guard case .air(let name?) = Sandbox.radio() else { return }
    let counts = await Task { @RadioLoop in
      let host = RadioContext.of(.air(name)).host
      let preference = PreferredConnectionParameters(interval: 6...12, supervisionTimeout: 100)
      return (0...PeripheralHost.preferenceLimit).map {
        host.prefer(preference, of: BluetoothAddress(UInt64($0))).count
      }
    }.value
    #expect(counts == Array(1...PeripheralHost.preferenceLimit) + [1])
  }

  /// Another process has the name, and only scans: it does not advertise. Only a radio that this process
  /// releases is waited for.
  @Test func aNameThatIsInUse() async throws {
    guard case .air(let name?) = Sandbox.radio() else { return }
    let folder = try #require(ProcessInfo.processInfo.environment["ATTO_AIR"])
    let radio = try await RadioOpening.openAirWhenReleased(name)
    let waiting = Task<Adapter, any Error> {
      try await RadioOpening.openAir(name, whenReleasedWithin: .seconds(3600))
    }
    await radio.close()
    try await waiting.ended().close()

    // What another process's radio has in the folder.
    let stem = radio.address.digits.replacingOccurrences(of: ":", with: "").lowercased()
    let path = "\(folder)/\(stem).life"
    mkfifo(path, 0o600)
    defer { unlink(path) }
    let foreign = try #require(FileHandle(forUpdatingAtPath: path))
    let refused = Task<Adapter, any Error> {
      try await RadioOpening.openAir(name, whenReleasedWithin: .seconds(3600))
    }
    await #expect(throws: RadioError.addressInUse(radio.address, name: "", process: nil)) {
      try await refused.ended()
    }
    withExtendedLifetime(foreign) {}
  }

  /// Other processes of the program use all of its names.
  @Test func namesOfOneProgram() async {
    let tried = Locked<[String]>([])
    let result = await RadioOpening.openAir(nil) { name throws(RadioError) in
      tried.withLock { $0.append(name) }
      throw .addressInUse(BluetoothAddress(1), name: name, process: 1)
    }
    #expect(Set(tried.value).count == RadioOpening.nameLimit)
    #expect(tried.value.count == RadioOpening.nameLimit)
    #expect(tried.value.last?.hasSuffix("-64") == true)
    guard case .unusable(.unsupported, let why) = result else {
      Issue.record("a radio was opened")
      return
    }
    #expect(why.contains("cannot use the virtual air: "))
    // A given name has no alternatives.
    tried.value = []
    _ = await RadioOpening.openAir("Mine") { name throws(RadioError) in
      tried.withLock { $0.append(name) }
      throw .addressInUse(BluetoothAddress(1), name: name, process: 1)
    }
    #expect(tried.value == ["Mine"])
  }
}
