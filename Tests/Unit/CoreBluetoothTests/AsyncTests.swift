import Atto
import Foundation
import TestSupport
import Testing

@testable import AttoCoreBluetooth

/// The extensions to Apple's API: sequences, async calls, messages.
@Suite(.oneByOne) struct AsyncTests {
  let strap: Strap
  let watch: Watch

  init() {
    let radio = Sandbox.radio()
    let name = "Async \(Sandbox.number(of: radio))"
    strap = Strap(radio, name: name)
    watch = Watch(Sandbox.radio(), for: name)
  }

  /// Scans, connects and discovers without a delegate.
  private func open() async throws -> CBPeripheral {
    try await strap.log.next("advertising begun")
    if watch.manager.state != .poweredOn { try await watch.log.next("state poweredOn") }
    for try await found in watch.manager.discoveries(withServices: [CBUUID(string: "180D")])
    where found.peripheral.name == strap.name {
      #expect(found.rssi == -50)
      #expect(found.advertisementData[CBAdvertisementDataLocalNameKey] as? String == strap.name)
      watch.found.value = found.peripheral
      break
    }
    let peripheral = try watch.peripheral
    try await watch.manager.openConnection(to: peripheral)
    #expect(peripheral.state == .connected)
    // It is connected already.
    try await watch.manager.openConnection(to: peripheral)
    _ = try await peripheral.discoverAll()
    return peripheral
  }

  /// Collects values in a task until it has `count`, is cancelled, or the sequence ends.
  private func collect(
    _ peripheral: CBPeripheral, _ characteristic: CBCharacteristic, _ count: Int = .max
  ) -> Task<[Data], any Error> {
    let carried = UncheckedBox((peripheral, characteristic))
    return Task {
      var values: [Data] = []
      for try await value in carried.content.0.notifications(for: carried.content.1) {
        values.append(value)
        if values.count == count { break }
      }
      return values
    }
  }

  @Test func receivesNotifications() async throws {
    let peripheral = try await open()
    #expect(!watch.manager.isScanning, "the scan ends with the loop")
    let rate = try watch.characteristic("2A37")
    let values = collect(peripheral, rate, 50)
    try await strap.log.next("subscribed 2A37")
    for number in 0..<50 {
      while !strap.manager.updateValue(
        Data([UInt8(number)]), for: strap.rate, onSubscribedCentrals: nil)
      {
        try await strap.log.next("ready")
      }
    }
    #expect(try await values.ended() == (0..<50).map { Data([UInt8($0)]) })
    // Leaving the loop has ended its subscription.
    try await strap.log.next("unsubscribed 2A37")
    // A subscription of the app remains.
    peripheral.delegate = watch
    peripheral.setNotifyValue(true, for: rate)
    try await watch.log.next("notifying 2A37 true well")
    let one = collect(peripheral, rate, 1)
    while peripheral.shown.value.listeners.isEmpty { await Task.yield() }
    strap.manager.updateValue(Data([7]), for: strap.rate, onSubscribedCentrals: nil)
    #expect(try await one.ended() == [Data([7])])
    try await watch.log.next("value 2A37 [7]")
    #expect(rate.isNotifying)
    // Unsubscribing by the app ends the sequence.
    let rest = collect(peripheral, rate)
    while peripheral.shown.value.listeners.isEmpty { await Task.yield() }
    peripheral.setNotifyValue(false, for: rate)
    #expect(try await rest.ended().isEmpty)
  }

  /// A sequence that begins while the former one unsubscribes gets its values.
  @Test func subscribesAgainAtOnce() async throws {
    let peripheral = try await open()
    let rate = try watch.characteristic("2A37")
    let carried = UncheckedBox(strap)
    let telling = Task {
      while !Task.isCancelled {
        carried.content.manager.updateValue(
          Data([7]), for: carried.content.rate, onSubscribedCentrals: nil)
        await Task.yield()
      }
    }
    defer { telling.cancel() }
    for _ in 0..<100 { #expect(try await collect(peripheral, rate, 1).ended() == [Data([7])]) }
  }

  /// The last of several sequences ends the subscription, unless the app has subscribed too.
  @Test func lastSequenceUnsubscribes() async throws {
    let peripheral = try await open()
    let rate = try watch.characteristic("2A37")
    let first = collect(peripheral, rate)
    try await strap.log.next("subscribed 2A37")
    let second = collect(peripheral, rate)
    while peripheral.shown.value.listeners.values.first?.count != 2 { await Task.yield() }
    first.cancel()
    #expect(try await first.ended().isEmpty)
    second.cancel()
    #expect(try await second.ended().isEmpty)
    try await strap.log.next("unsubscribed 2A37")

    peripheral.delegate = watch
    let third = collect(peripheral, rate)
    try await strap.log.next("subscribed 2A37")
    peripheral.setNotifyValue(true, for: rate)
    try await watch.log.next("notifying 2A37 true well")
    third.cancel()
    #expect(try await third.ended().isEmpty)
    // The response comes after the end of the sequence.
    #expect(try await peripheral.read(watch.characteristic("2A38")) == Data([1]))
    strap.manager.updateValue(Data([9]), for: strap.rate, onSubscribedCentrals: nil)
    try await watch.log.next("value 2A37 [9]")
    #expect(rate.isNotifying)
  }

  /// A sequence of a subscribed value does not wait for other calls.
  @Test func receivesDuringACall() async throws {
    let peripheral = try await open()
    let rate = try watch.characteristic("2A37")
    peripheral.delegate = watch
    peripheral.setNotifyValue(true, for: rate)
    try await watch.log.next("notifying 2A37 true well")
    let carried = try UncheckedBox((peripheral, watch.characteristic("FF05")))
    let reading = Task { try await carried.content.0.read(carried.content.1) }
    try await strap.log.next("read FF05")
    let one = collect(peripheral, rate, 1)
    while peripheral.shown.value.listeners.isEmpty { await Task.yield() }
    strap.manager.updateValue(Data([7]), for: strap.rate, onSubscribedCentrals: nil)
    #expect(try await one.ended() == [Data([7])])
    reading.cancel()
    await #expect(throws: CancellationError.self) { try await reading.ended() }
    strap.kept.value = []
  }

  /// A sequence that is cancelled at any time leaves no subscription.
  @Test func cancelsSubscribing() async throws {
    let peripheral = try await open()
    let rate = try watch.characteristic("2A37")
    for _ in 0..<20 {
      let values = collect(peripheral, rate)
      try await strap.log.next("subscribed 2A37")
      // The peer's response may be on its way.
      values.cancel()
      #expect(try await values.ended().isEmpty)
      try await strap.log.next("unsubscribed 2A37")
    }
    #expect(try await peripheral.read(watch.characteristic("2A38")) == Data([1]))
    #expect(!rate.isNotifying)
  }

  /// The sequence misses no device, even if it is found at once.
  @Test func missesNoDiscovery() async throws {
    try await strap.log.next("advertising begun")
    if watch.manager.state != .poweredOn { try await watch.log.next("state poweredOn") }
    for _ in 0..<100 {
      for try await found in watch.manager.discoveries(withServices: [CBUUID(string: "180D")]) {
        // Other tests advertise too.
        if found.advertisementData[CBAdvertisementDataLocalNameKey] as? String == strap.name {
          break
        }
      }
      #expect(!watch.manager.isScanning)
    }
  }

  /// Runs a scan to its timeout, and then `body`, before the app gets a callback.
  private func behind(_ services: [CBUUID]?, _ body: () async throws -> Void) async throws {
    let engine = watch.manager.engine
    await watch.queue.suspendFromWithin()
    defer { watch.queue.resume() }
    watch.manager.scanForPeripherals(
      withServices: services, options: [CBCentralManagerScanOptionTimeoutKey: 0.2])
    while await Task(operation: { @RadioLoop in engine.request != nil }).value {
      await Task.yield()
    }
    try await body()
  }

  /// Discoveries and the end of a former scan do not reach the next one.
  @Test func scansFollowEachOther() async throws {
    try await strap.log.next("advertising begun")
    if watch.manager.state != .poweredOn { try await watch.log.next("state poweredOn") }
    let carried = UncheckedBox((watch.manager!, strap))
    let found = Locked<Task<[String], any Error>?>(nil)
    for (former, wanted) in [(nil, "FEED"), ([CBUUID(string: "FEED")], "180D")] {
      try await behind(former) {
        let scans = watch.manager.own.value.scans
        found.value = Task {
          var found: [String] = []
          let (manager, strap) = carried.content
          for try await one in manager.discoveries(
            withServices: [CBUUID(string: wanted)],
            options: wanted == "FEED" ? [CBCentralManagerScanOptionTimeoutKey: 0.05] : nil)
          {
            found.append(one.peripheral.name ?? "")
            if found.last == strap.name { break }
          }
          return found
        }
        while watch.manager.own.value.scans == scans { await Task.yield() }
      }
      let task = try #require(found.value)
      let names = try await task.ended()
      #expect(wanted == "FEED" ? names.isEmpty : names.last == strap.name)
    }
    #expect(!watch.manager.isScanning)
  }

  @Test func endsSequencesWithTheConnection() async throws {
    let peripheral = try await open()
    let rate = try watch.characteristic("2A37")
    let values = collect(peripheral, rate)
    try await strap.log.next("subscribed 2A37")
    await (try #require(await strap.manager.engine.radio)).set(.poweredOff)
    await #expect(throws: CBError(.peripheralDisconnected)) { _ = try await values.ended() }
    // There is no sequence without a connection.
    let none = collect(peripheral, rate)
    await #expect(throws: CBError.self) { _ = try await none.ended() }
  }

  @Test func cancelsSequences() async throws {
    try await watch.log.next("state poweredOn")
    let held = UncheckedBox(watch.manager!)
    let scan = Task {
      var count = 0
      for try await _ in held.content.discoveries(withServices: [CBUUID(string: "FEED")]) {
        count += 1
      }
      return count
    }
    while !watch.manager.isScanning { await Task.yield() }
    scan.cancel()
    #expect(try await scan.ended() == 0)
    while watch.manager.isScanning { await Task.yield() }

    // Another scan ends it too, and so does the timeout.
    let other = Task {
      for try await _ in held.content.discoveries(withServices: [CBUUID(string: "FEED")]) {}
    }
    while !watch.manager.isScanning { await Task.yield() }
    for try await _ in watch.manager.discoveries(
      withServices: [CBUUID(string: "FEED")],
      options: [CBCentralManagerScanOptionTimeoutKey: 0.05])
    {}
    try await other.ended()
    #expect(!watch.manager.isScanning)

    let peripheral = try await open()
    let values = try collect(peripheral, watch.characteristic("2A37"))
    try await strap.log.next("subscribed 2A37")
    values.cancel()
    #expect(try await values.ended() == [])
    try await strap.log.next("unsubscribed 2A37")
    #expect(peripheral.shown.value.listeners.isEmpty)
  }

  @Test func cancelsCalls() async throws {
    let peripheral = try await open()
    let carried = try UncheckedBox((peripheral, watch.characteristic("FF05")))
    let reading = Task { try await carried.content.0.read(carried.content.1) }
    try await strap.log.next("read FF05")
    let waiting = Task { try await carried.content.0.read(carried.content.1) }
    while peripheral.shown.value.calls.count < 2 { await Task.yield() }
    waiting.cancel()
    await #expect(throws: CancellationError.self) { _ = try await waiting.ended() }
    reading.cancel()
    await #expect(throws: CancellationError.self) { _ = try await reading.ended() }
    #expect(peripheral.shown.value.calls.isEmpty)
    // The request on the wire is answered, and later calls go on.
    strap.kept.withLock { $0 = [] }
    #expect(try await peripheral.read(watch.characteristic("2A38")) == Data([1]))
    let before = Task {
      try await Task.sleep(for: .seconds(60))
      _ = try await carried.content.0.discoverAll()
    }
    before.cancel()
    await #expect(throws: CancellationError.self) { try await before.value }
  }

  @Test func cancelsConnections() async throws {
    try await watch.log.next("state poweredOn")
    let identifier = UUID()
    KnownPeers.met(identifier, .init(0xC0_11_22_33_44_66, kind: .random), name: "Nobody")
    let peripheral = try #require(
      watch.manager.retrievePeripherals(withIdentifiers: [identifier]).first)
    let carried = UncheckedBox((watch.manager!, peripheral))
    let opening = Task { try await carried.content.0.openConnection(to: carried.content.1) }
    let beside = Task { try await carried.content.0.openConnection(to: carried.content.1) }
    while peripheral.shown.value.openings.count < 2 { await Task.yield() }
    opening.cancel()
    await #expect(throws: CancellationError.self) { try await opening.ended() }
    await #expect(throws: CBError(.operationCancelled)) { try await beside.ended() }
    try await watch.log.next("disconnected well")
    #expect(peripheral.state == .disconnected)
    // Cancelled by another part of the app.
    let second = Task { try await carried.content.0.openConnection(to: carried.content.1) }
    while peripheral.shown.value.openings.isEmpty { await Task.yield() }
    watch.manager.cancelPeripheralConnection(peripheral)
    await #expect(throws: CBError(.operationCancelled)) { try await second.ended() }
    // While the radio is off.
    await (try #require(await watch.manager.engine.radio)).set(.poweredOff)
    try await watch.log.next("state poweredOff")
    await #expect(throws: CBError(.operationCancelled)) {
      try await carried.content.0.openConnection(to: carried.content.1)
    }
    await #expect(throws: CBError(.operationCancelled)) {
      for try await _ in carried.content.0.discoveries() {}
    }
  }

  @Test func sendsMessages() async throws {
    let peripheral = try await open()
    let message = Data((0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 13) })
    try await peripheral.sendMessage(message, to: watch.characteristic("FF03"))
    try await peripheral.sendMessage(Data("EOM".utf8), to: watch.characteristic("FF03"))
    // The peer handles a request after all commands before it.
    try await peripheral.write(Data([1]), to: watch.characteristic("2A39"))
    var framing = MessageFraming()
    let messages = try framing.receive(strap.received.value)
    let isSame = messages == [message, Data("EOM".utf8)]
    #expect(isSame, "\(messages.map(\.count))")

    let carried = try UncheckedBox((peripheral, watch.characteristic("2A37")))
    let receiving = Task {
      var messages: [Data] = []
      for try await message in carried.content.0.messages(from: carried.content.1) {
        messages.append(message)
        if messages.count == 2 { break }
      }
      return messages
    }
    try await strap.log.next("subscribed 2A37")
    let replies = [Data(count: 3000), Data("EOM".utf8)]
    for piece in replies.flatMap({ MessageFraming.pieces(of: $0, size: 100) }) {
      while !strap.manager.updateValue(piece, for: strap.rate, onSubscribedCentrals: nil) {
        try await strap.log.next("ready")
      }
    }
    #expect(try await receiving.ended() == replies)
  }

  /// Collects messages in a task until it has `count`.
  private func messages(
    _ peripheral: CBPeripheral, _ characteristic: CBCharacteristic, _ count: Int
  ) -> Task<[Data], any Error> {
    let carried = UncheckedBox((peripheral, characteristic))
    return Task {
      var messages: [Data] = []
      for try await message in carried.content.0.messages(from: carried.content.1) {
        messages.append(message)
        if messages.count == count { break }
      }
      return messages
    }
  }

  @Test func peripheralsSendMessages() async throws {
    let peripheral = try await open()
    let carried = UncheckedBox((strap.manager!, strap.rate, strap.alarm))
    // No central is subscribed.
    await #expect(throws: CBError(.notConnected)) {
      try await carried.content.0.sendMessage(Data([1]), for: carried.content.1)
    }
    let big = Data((0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 17 &+ $0 >> 9) })
    // Notifications and indications, several messages at once, and an empty one.
    for (uuid, isIndication) in [("2A37", false), ("FF01", true)] {
      let all = isIndication ? [big.prefix(20_000), Data()] : [big, Data("EOM".utf8), Data(), big]
      let receiving = try messages(peripheral, watch.characteristic(uuid), all.count)
      try await strap.log.next("subscribed \(uuid)")
      let sends = all.map { message in
        Task {
          try await carried.content.0.sendMessage(
            message, for: isIndication ? carried.content.2 : carried.content.1)
        }
      }
      for send in sends { try await send.value }
      let received = try await receiving.ended()
      let isSame = received.sorted { $0.count < $1.count } == all.sorted { $0.count < $1.count }
      #expect(isSame, "\(received.map(\.count))")
      try await strap.log.next("unsubscribed \(uuid)")
    }
    // peripheralManagerIsReady comes only for updateValue.
    #expect(!strap.log.all.contains("ready"))
    // While the radio is off, the command is ignored.
    await (try #require(await strap.manager.engine.radio)).set(.poweredOff)
    try await strap.log.next("state poweredOff")
    await #expect(throws: CBError(.operationCancelled)) {
      try await carried.content.0.sendMessage(Data([1]), for: carried.content.1)
    }
  }

  /// A central that stops reading blocks a message until it disconnects or the task is cancelled.
  @Test func messagesToACentralThatStopsReading() async throws {
    let peripheral = try await open()
    let carried = UncheckedBox((strap.manager!, strap.rate))
    peripheral.delegate = watch
    try peripheral.setNotifyValue(true, for: watch.characteristic("2A37"))
    try await strap.log.next("subscribed 2A37")
    try await watch.log.next("notifying")
    let big = Data(count: 4_000_000)
    await watch.queue.suspendFromWithin()
    let first = Task { try await carried.content.0.sendMessage(big, for: carried.content.1) }
    // The message has begun and waits for a place.
    while !strap.manager.window.isAwaited { await Task.yield() }
    let second = Task { try await carried.content.0.sendMessage(big, for: carried.content.1) }
    let third = Task { try await carried.content.0.sendMessage(big, for: carried.content.1) }
    second.cancel()
    await #expect(throws: CancellationError.self) { try await second.ended() }
    first.cancel()
    await #expect(throws: CancellationError.self) { try await first.ended() }
    // The central would take the next message for the rest.
    await #expect(throws: MessageFraming.CutShort()) { try await third.ended() }
    watch.queue.resume()
    watch.manager.cancelPeripheralConnection(peripheral)
    try await watch.log.next("disconnected well")
    try await strap.log.next("unsubscribed 2A37")
    // A new connection has no message that was cut short. Disconnecting ends a message.
    try await watch.manager.openConnection(to: peripheral)
    _ = try await peripheral.discoverAll()
    try peripheral.setNotifyValue(true, for: watch.characteristic("2A37"))
    try await strap.log.next("subscribed 2A37")
    try await watch.log.next("notifying")
    await watch.queue.suspendFromWithin()
    let last = Task { try await carried.content.0.sendMessage(big, for: carried.content.1) }
    while !strap.manager.window.isAwaited { await Task.yield() }
    watch.manager.cancelPeripheralConnection(peripheral)
    await #expect(throws: CBError(.peripheralDisconnected)) { try await last.ended() }
    watch.queue.resume()
  }

  /// A message of a central that is cancelled midway, and later messages.
  @Test func messagesThatAreCutShort() async throws {
    let peripheral = try await open()
    let carried = try UncheckedBox((peripheral, watch.characteristic("FF03")))
    let slow = try UncheckedBox((peripheral, watch.characteristic("FF05")))
    // Cancelled before its first piece: nothing is cut short.
    let early = Task {
      try await Task.sleep(for: .seconds(60))
      try await carried.content.0.sendMessage(Data(count: 10), to: carried.content.1)
    }
    early.cancel()
    await #expect(throws: CancellationError.self) { try await early.ended() }
    try await peripheral.sendMessage(Data("one".utf8), to: carried.content.1)
    // A write with response that is not answered: the first piece was sent.
    let stuck = Task {
      try await slow.content.0.sendMessage(Data(count: 2000), to: slow.content.1)
    }
    try await strap.log.next("write FF05")
    stuck.cancel()
    await #expect(throws: CancellationError.self) { try await stuck.ended() }
    await #expect(throws: MessageFraming.CutShort()) {
      try await slow.content.0.sendMessage(Data([1]), to: slow.content.1)
    }
    strap.kept.value = []
    // Other characteristics are not affected.
    try await peripheral.sendMessage(Data("two".utf8), to: carried.content.1)
    try await peripheral.write(Data([1]), to: watch.characteristic("2A39"))
    var framing = MessageFraming()
    #expect(try framing.receive(strap.received.value) == [Data("one".utf8), Data("two".utf8)])
  }

  @Test func showsAddressesAndGenericServices() async throws {
    let peripheral = try await open()
    #expect(peripheral.hasRandomAddress)
    #expect(peripheral.address.split(separator: ":").count == 6)
    peripheral.showsGenericServices = true
    #expect(
      try await peripheral.discoverAll().map(\.uuid.uuidString) == ["1800", "1801", "180D"])
    peripheral.delegate = watch
    peripheral.discoverServices([CBUUID(string: "1800")])
    try await watch.log.next("services")
    #expect(peripheral.services?.contains { $0.uuid == CBUUID(string: "1800") } == true)
  }

  @Test func reportsDevicesThatHaveGone() async throws {
    let presence = PresenceDelegate(Sandbox.radio())
    let peer = try await ScriptedPeer("Brief")
    try await presence.log.next("state")
    presence.manager.scanForPeripherals(
      withServices: [CBUUID(string: "180D")],
      options: [CBCentralManagerScanOptionGoneTimeoutKey: 0.2])
    try await presence.log.next("found Brief")
    let start = ContinuousClock.now
    peer.end()
    try await presence.log.next("lost Brief")
    #expect(.now - start >= .milliseconds(200))
    // Without a timeout, the report comes at once.
    // The first scan must not find the device: the second might begin after it has gone.
    presence.manager.stopScan()
    let second = try await ScriptedPeer("Short")
    presence.manager.scanForPeripherals(withServices: [CBUUID(string: "180D")])
    try await presence.log.next("found Short")
    second.end()
    try await presence.log.next("lost Short")
    // A scan that times out reports its end.
    presence.manager.stopScan()
    presence.manager.scanForPeripherals(
      withServices: [CBUUID(string: "180D")], options: [CBCentralManagerScanOptionTimeoutKey: 0.1])
    try await presence.log.next("scan ended")
    #expect(!presence.manager.isScanning)
  }

  @Test func presenceTimesOut() {
    let start = ContinuousClock.now
    let (one, two) = (BluetoothAddress(1), BluetoothAddress(2))
    var kernel = Presence(after: .seconds(4), isToldOfEnds: false)
    kernel.received(one, at: start)
    kernel.received(two, at: start + .seconds(2))
    #expect(kernel.removeGone(at: start + .seconds(3)).isEmpty)
    kernel.ended(one, at: start + .seconds(3))
    #expect(kernel.removeGone(at: start + .seconds(4)) == [one])
    kernel.received(two, at: start + .seconds(5))
    #expect(kernel.removeGone(at: start + .seconds(8)).isEmpty)
    #expect(kernel.removeGone(at: start + .seconds(9)) == [two])
    #expect(kernel.removeGone(at: start + .seconds(20)).isEmpty)
    var air = Presence(after: .seconds(4), isToldOfEnds: true)
    air.received(one, at: start)
    #expect(air.removeGone(at: start + .seconds(100)).isEmpty)
    air.ended(one, at: start + .seconds(100))
    air.received(one, at: start + .seconds(101))
    #expect(air.removeGone(at: start + .seconds(200)).isEmpty)
    air.ended(one, at: start + .seconds(200))
    #expect(air.removeGone(at: start + .seconds(204)) == [one])
  }
}

private final class PresenceDelegate: NSObject, CBCentralManagerPresenceDelegate {
  let log = EventLog()
  private(set) var manager: CBCentralManager!

  init(_ radio: CBRadio) {
    super.init()
    manager = CBCentralManager(
      delegate: self, queue: DispatchQueue(label: "presence"), options: nil, radio: radio)
  }
  func centralManagerDidUpdateState(_ central: CBCentralManager) { log.add("state") }
  func centralManager(
    _ central: CBCentralManager, didDiscover peripheral: CBPeripheral,
    advertisementData: [String: Any], rssi RSSI: NSNumber
  ) {
    log.add("found \(peripheral.name ?? "-")")
  }
  func centralManager(_ central: CBCentralManager, didLose peripheral: CBPeripheral) {
    log.add("lost \(peripheral.name ?? "-")")
  }
  func centralManagerDidEndScan(_ central: CBCentralManager) { log.add("scan ended") }
}
