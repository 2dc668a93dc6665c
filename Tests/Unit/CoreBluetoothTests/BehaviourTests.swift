import Atto
import Foundation
import TestSupport
import Testing

@testable import AttoCoreBluetooth

/// Behaviour that apps depend on, beside the calls and their callbacks.
@Suite(.oneByOne) struct BehaviourTests {
  let strap: Strap
  let watch: Watch

  init() {
    let radio = Sandbox.radio()
    let name = "Behaving \(Sandbox.number(of: radio))"
    strap = Strap(radio, name: name)
    watch = Watch(Sandbox.radio(), for: name)
  }

  private func hop() async {
    for _ in 0..<10 { await Task { @RadioLoop in await Task.yield() }.value }
    await withCheckedContinuation { continuation in
      watch.queue.async { continuation.resume() }
    }
  }

  /// The value handle of one of the strap's characteristics.
  private func handle(of characteristic: CBMutableCharacteristic) async throws -> UInt8 {
    let engine = strap.manager.engine
    let wanted = UncheckedBox(characteristic)
    let handle = await Task { @RadioLoop in
      engine.entries.first { $0.value.characteristic.content === wanted.content }?.key.rawValue
    }.value
    return UInt8(try #require(handle))
  }

  private func address(of manager: CBPeripheralManager) async throws -> BluetoothAddress {
    await (try #require(await manager.engine.radio)).address(isolation: ())
  }

  // MARK: Connections

  @Test func reportsConnectionEvents() async throws {
    // Another app of this process has the same radio.
    let other = Watch(watch.manager.choice, for: strap.name)
    try await other.log.next("state poweredOn")
    try await watch.log.next("state poweredOn")
    let third = Watch(watch.manager.choice, for: strap.name)
    try await third.log.next("state poweredOn")
    other.manager.registerForConnectionEvents(
      options: [.serviceUUIDs: [CBUUID(string: "180D")]])
    third.manager.registerForConnectionEvents(options: [.peripheralUUIDs: [UUID()]])
    watch.manager.scanForPeripherals(withServices: [CBUUID(string: "180D")])
    try await watch.log.next("found")
    watch.manager.stopScan()
    try watch.manager.connect(watch.peripheral)
    try await watch.log.next("connected")
    #expect(
      try await other.log.next("event") == "event \(CBConnectionEvent.peerConnected.rawValue)")
    // nil ends the reports.
    try watch.manager.cancelPeripheralConnection(watch.peripheral)
    try await watch.log.next("disconnected")
    #expect(
      try await other.log.next("event") == "event \(CBConnectionEvent.peerDisconnected.rawValue)")
    other.manager.registerForConnectionEvents(options: nil)
    third.manager.registerForConnectionEvents(
      options: [.peripheralUUIDs: [try watch.peripheral.identifier]])
    try watch.manager.connect(watch.peripheral)
    try await watch.log.next("connected")
    try await third.log.next("event 1")
    await hop()
    #expect(other.log.all.filter { $0.hasPrefix("event") }.count == 2)
    #expect(third.log.all.filter { $0.hasPrefix("event") }.count == 1)
  }

  @Test func reconnectsAutomatically() async throws {
    let logger = Reconnecting(watch.manager.choice, for: strap.name)
    try await logger.log.next("connected")
    let radio = try #require(await strap.manager.engine.radio)
    await radio.set(.poweredOff)
    #expect(try await logger.log.next("disconnected") == "disconnected true 7 connecting")
    try await strap.log.next("state poweredOff")
    strap.restored.value = [strap.service]  // Nothing is added again.
    await radio.set(.poweredOn)
    try await strap.log.next("state poweredOn")
    strap.manager.startAdvertising([CBAdvertisementDataLocalNameKey: strap.name])
    try await logger.log.next("connected")
    strap.restored.value = []
    // A connection that the app has cancelled is not made again.
    logger.manager.cancelPeripheralConnection(try #require(logger.found))
    #expect(try await logger.log.next("disconnected") == "disconnected false 0 disconnected")
    await hop()
    #expect(logger.found?.state == .disconnected)
  }

  /// All of Apple's options are accepted. The delay has its effect.
  @Test func acceptsEveryOption() async throws {
    try await watch.log.next("state poweredOn")
    watch.manager.scanForPeripherals(withServices: [CBUUID(string: "180D")])
    try await watch.log.next("found")
    watch.manager.stopScan()
    let begin = ContinuousClock.now
    let peripheral = try watch.peripheral
    // The state changes on this queue.
    watch.queue.sync {
      watch.manager.connect(
        peripheral,
        options: [
          CBConnectPeripheralOptionNotifyOnConnectionKey: true,
          CBConnectPeripheralOptionNotifyOnDisconnectionKey: NSNumber(value: true),
          CBConnectPeripheralOptionNotifyOnNotificationKey: 1,
          CBConnectPeripheralOptionEnableTransportBridgingKey: true,
          CBConnectPeripheralOptionRequiresANCS: true,
          CBConnectPeripheralOptionStartDelayKey: NSNumber(value: 0.2),
          "some other key": "some other value",
        ])
      #expect(peripheral.state == .connecting)
    }
    try await watch.log.next("connected")
    #expect(.now - begin >= .milliseconds(200))
    #expect(!peripheral.ancsAuthorized)
    let manager = CBCentralManager(
      delegate: nil, queue: DispatchQueue(label: "options"),
      options: [
        CBCentralManagerOptionShowPowerAlertKey: true,
        CBCentralManagerOptionDeviceAccessForMedia: true,
      ], radio: watch.manager.choice)
    #expect(manager.state == .unknown)
  }

  /// A peripheral that the app releases is disconnected without a callback.
  @Test func releasedPeripheralDisconnects() async throws {
    try await watch.getReady()
    try watch.peripheral.setNotifyValue(true, for: watch.characteristic("2A37"))
    try await strap.log.next("subscribed 2A37")
    try await watch.log.next("notifying")
    let identifier = try watch.peripheral.identifier
    watch.found.value = nil
    try await strap.log.next("unsubscribed 2A37")
    await hop()
    #expect(!watch.log.all.contains { $0.hasPrefix("disconnected") })
    // It can be discovered again, as another object with the same identifier.
    let again = try #require(
      watch.manager.retrievePeripherals(withIdentifiers: [identifier]).first)
    try await watch.manager.openConnection(to: again)
    #expect(again.identifier == identifier && again.services == nil)
  }

  @Test func delegatesAreHeldWeakly() async throws {
    try await watch.getReady()
    var brief: Brief? = Brief()
    let peripheral = try watch.peripheral
    peripheral.delegate = brief
    let central = CBCentralManager(
      delegate: brief, queue: DispatchQueue(label: "weak"), options: nil,
      radio: watch.manager.choice)
    let publisher = CBPeripheralManager(
      delegate: brief, queue: DispatchQueue(label: "weak"), options: nil,
      radio: strap.manager.choice)
    #expect(peripheral.delegate === brief)
    brief = nil
    // A running callback retains the delegate until it returns.
    let deadline = ContinuousClock.now + .seconds(60)
    while peripheral.delegate != nil || central.delegate != nil || publisher.delegate != nil,
      ContinuousClock.now < deadline
    { await Task.yield() }
    #expect(peripheral.delegate == nil)
    #expect(central.delegate == nil && publisher.delegate == nil)
  }

  // MARK: Advertising

  /// The start of advertising is reported even after it was stopped, but isAdvertising is false.
  @Test func stopsAdvertisingBeforeItsStartIsReported() async throws {
    try await strap.log.next("advertising begun")
    #expect(strap.manager.isAdvertising)
    strap.manager.stopAdvertising()
    await strap.queue.suspendFromWithin()
    strap.manager.startAdvertising(nil)
    let engine = strap.manager.engine
    while await Task(operation: { @RadioLoop in engine.advertisement == nil }).value {
      await Task.yield()
    }
    strap.manager.stopAdvertising()
    strap.queue.resume()
    try await strap.log.next("advertising begun")
    #expect(!strap.manager.isAdvertising)
  }

  // MARK: Observation

  @Test func observesStates() async throws {
    let log = EventLog()
    let manager = watch.manager!
    let observations = [
      manager.observe(\.state, options: [.initial, .new, .old]) { manager, change in
        let old = change.oldValue.map { "\($0)" } ?? "-"
        log.add("state \(old) \(change.newValue.map { "\($0)" } ?? "-") \(manager.state)")
      },
      manager.observe(\.isScanning, options: .new) { _, change in
        log.add("scanning \(change.newValue ?? false)")
      },
    ]
    try await watch.log.next("state poweredOn")
    manager.scanForPeripherals(withServices: [CBUUID(string: "180D")])
    try await watch.log.next("found")
    manager.scanForPeripherals(withServices: nil)
    manager.stopScan()
    let peripheral = try watch.peripheral
    var ofPeripheral: NSKeyValueObservation? = peripheral.observe(\.state) { peripheral, change in
      log.add("peripheral \(peripheral.state.rawValue) \(change.newValue == nil)")
    }
    manager.connect(peripheral)
    try await watch.log.next("connected")
    manager.cancelPeripheralConnection(peripheral)
    try await watch.log.next("disconnected")
    ofPeripheral?.invalidate()
    manager.connect(peripheral)
    try await watch.log.next("connected")
    ofPeripheral = nil
    let all = log.all.filter { !$0.hasPrefix("state - ") }
    #expect(
      all.filter { !$0.hasPrefix("state") } == [
        "scanning true", "scanning false", "peripheral 1 true", "peripheral 2 true",
        "peripheral 3 true", "peripheral 0 true",
      ], "\(all)")
    #expect(log.all.first?.hasPrefix("state - ") == true)
    #expect(
      all.filter { $0.hasPrefix("state") }.allSatisfy { $0 == "state unknown poweredOn poweredOn" })
    withExtendedLifetime(observations) {}
  }

  @Test func observesPropertiesOfPeripherals() async throws {
    let log = EventLog()
    try await strap.log.next("advertising begun")
    try await watch.log.next("state poweredOn")
    watch.manager.scanForPeripherals(withServices: [CBUUID(string: "180D")])
    try await watch.log.next("found")
    watch.manager.stopScan()
    let peripheral = try watch.peripheral
    let observations = [
      strap.manager.observe(\.isAdvertising, options: .new) { _, change in
        log.add("advertising \(change.newValue ?? false)")
      },
      peripheral.observe(\.name, options: [.old, .new]) { _, change in
        log.add("name \((change.oldValue ?? nil) ?? "-") \((change.newValue ?? nil) ?? "-")")
      },
      peripheral.observe(\.services) { peripheral, _ in
        log.add("services \(peripheral.services?.count ?? -1)")
      },
      peripheral.observe(\.canSendWriteWithoutResponse, options: .new) { _, change in
        log.add("room \(change.newValue ?? false)")
      },
      peripheral.observe(\.rssi) { peripheral, _ in
        log.add("rssi \(peripheral.rssi ?? 0)")
      },
    ]
    strap.manager.stopAdvertising()
    try await log.next("advertising false")
    strap.manager.startAdvertising([CBAdvertisementDataLocalNameKey: strap.name])
    try await log.next("advertising true")
    peripheral.delegate = watch
    watch.manager.connect(peripheral)
    try await log.next("room true")
    // The Device Name of the peer is the name of its radio.
    try await log.next("name \(strap.name) radio-")
    peripheral.readRSSI()
    try await log.next("rssi -50")
    peripheral.discoverServices(nil)
    try await log.next("services 1")
    peripheral.discoverCharacteristics(nil, for: try #require(peripheral.services?.first))
    try await watch.log.next("characteristics")
    let inbox = try watch.characteristic("FF03")
    // Nothing is sent while the loop stands still.
    let gate = DispatchSemaphore(value: 0)
    RadioLoop.later { gate.wait() }
    for _ in 0..<CBPeripheral.commandLimit {
      peripheral.writeValue(Data([1]), for: inbox, type: .withoutResponse)
    }
    gate.signal()
    try await log.next("room false")
    try await log.next("room true")
    watch.manager.cancelPeripheralConnection(peripheral)
    try await log.next("services -1")
    withExtendedLifetime(observations) {}
  }

  @Test func valuesForKeys() async throws {
    try await watch.getReady()
    let peripheral = try watch.peripheral
    #expect(peripheral.value(forKey: "identifier") as? UUID == peripheral.identifier)
    #expect(peripheral.value(forKey: "state") as? Int == CBPeripheralState.connected.rawValue)
    #expect(peripheral.value(forKey: "mtuLength") as? Int == 517)
    #expect((peripheral.value(forKey: "mtuLength") as? NSNumber)?.intValue == 517)
    #expect(peripheral.value(forKey: "name") as? String == peripheral.name)
    #expect(peripheral.value(forKey: "canSendWriteWithoutResponse") as? Bool == true)
    #expect((peripheral.value(forKey: "services") as? [CBService])?.count == 1)
  }

  /// A wrapper of a manager, as in libraries.
  private final class Wrapper: NSObject {
    var manager: CBCentralManager?
    var observation: NSKeyValueObservation?
  }

  @Test func observesStatesThroughAnObjectOfTheApp() async throws {
    let log = EventLog()
    let wrapper = Wrapper()
    wrapper.manager = watch.manager
    wrapper.observation = wrapper.observe(\.manager?.isScanning, options: [.old, .new]) {
      _, change in
      let both = [change.oldValue, change.newValue].map { $0.map { "\($0 ?? false)" } ?? "-" }
      log.add(both.joined(separator: " "))
    }
    try await watch.log.next("state poweredOn")
    watch.manager.scanForPeripherals(withServices: nil)
    watch.manager.stopScan()
    #expect(log.all == ["false true", "true false"])
    wrapper.observation = nil
    watch.manager.scanForPeripherals(withServices: nil)
    #expect(log.all.count == 2)
  }

  /// Objects are arguments of `%@`.
  @Test func formatsObjects() {
    let uuid = CBUUID(string: "180D")
    let service = CBMutableService(type: uuid, primary: true)
    let text = String(format: "%@, %@, %@: %d", uuid, service, watch.manager, 3)
    #expect(text == "Heart Rate, \(service), \(watch.manager.description): 3")
  }

  // MARK: Scanning

  @Test func findsSolicitingDevices() async throws {
    guard case .air(let name?) = Sandbox.radio() else { return }
    let adapter = try Adapter.virtual(name: name, loop: RadioLoop.loop)
    var data = AdvertisingData()
    data.localName = strap.name
    data.solicitedServiceUUIDs = [0x1805]
    let advertisement = try await adapter.advertise(AdvertisingParameters(data))
    strap.manager.stopAdvertising()
    let finder = Finder(watch.manager.choice)
    try await finder.log.next("state")
    // Not by services that it does not advertise ...
    finder.manager.scanForPeripherals(
      withServices: [CBUUID(string: "1805")],
      options: [CBCentralManagerScanOptionTimeoutKey: 0.1])
    try await finder.log.next("scan ended")
    #expect(!finder.log.all.contains { $0.hasSuffix(strap.name) })
    // ... but by those that it solicits.
    finder.manager.scanForPeripherals(
      withServices: nil,
      options: [CBCentralManagerScanOptionSolicitedServiceUUIDsKey: [CBUUID(string: "1805")]])
    try await finder.log.next("found [\"1805\"] \(strap.name)")
    advertisement.stop()
    await adapter.close()
  }

  @Test func reportsADeviceOnceOrEachTime() async throws {
    let finder = Finder(watch.manager.choice)
    try await strap.log.next("advertising begun")
    try await finder.log.next("state")
    let heart = [CBUUID(string: "180D")]
    finder.manager.scanForPeripherals(
      withServices: heart, options: [CBCentralManagerScanOptionTimeoutKey: 0.5])
    try await finder.log.next("scan ended")
    #expect(finder.log.all.filter { $0.hasSuffix(" \(strap.name)") }.count == 1)
    let before = finder.log.all.count
    finder.manager.scanForPeripherals(
      withServices: heart, options: [CBCentralManagerScanOptionAllowDuplicatesKey: true])
    for _ in 0..<4 { try await finder.log.next("found [] \(strap.name)") }
    // Another scan has its own parameters, and reports each device again.
    finder.manager.scanForPeripherals(withServices: heart, options: nil)
    try await finder.log.next("found [] \(strap.name)")
    finder.manager.stopScan()
    let count = finder.log.all.count
    await hop()
    #expect(finder.log.all.count == count && count > before + 4)
  }

  // MARK: The peripheral role

  @Test func aCentralThatDoesNotReadHoldsUpNobody() async throws {
    try await strap.log.next("advertising begun")
    let handle = try await handle(of: strap.rate)
    let quick = try await RawCentral(to: address(of: strap.manager))
    let stalled = try await RawCentral(to: address(of: strap.manager))
    for central in [quick, stalled] {
      #expect(await central.ask([0x12, handle + 1, 0, 1, 0]) == [0x13])
    }
    // More than the stalled one's link and queue take.
    for number in 0..<4000 {
      let value = [UInt8(number & 0xFF), UInt8(number >> 8)]
      try #require(
        strap.manager.updateValue(Data(value), for: strap.rate, onSubscribedCentrals: nil))
      try #require(await quick.receive() == [0x1B, handle, 0] + value)
    }
    var last: [UInt8] = []
    while last != [0x1B, handle, 0, 0x9F, 0x0F] {
      last = await stalled.receive()
      try #require(!last.isEmpty)
    }
    await quick.end()
    await stalled.end()
  }

  @Test func preparedWritesArriveAsOneBatch() async throws {
    try await strap.log.next("advertising begun")
    let central = try await RawCentral(to: address(of: strap.manager))
    let (one, two) = (try await handle(of: strap.silent), try await handle(of: strap.long))
    for part in [
      [one, 0, 0, 0, 1, 2], [one, 0, 2, 0, 3], [two, 0, 0, 0, 9], [one, 0, 3, 0, 4],
    ] {
      #expect(await central.ask([0x16] + part) == [0x17] + part)
    }
    #expect(!strap.log.all.contains { $0.hasPrefix("write") }, "nothing before it is executed")
    central.send([0x18, 1])
    #expect(try await strap.log.next("write") == "write FF05 in 4")
    let requests = strap.kept.value
    try #require(requests.map(\.offset) == [0, 2, 0, 3])
    #expect(requests.map(\.value) == [Data([1, 2]), Data([3]), Data([9]), Data([4])])
    #expect(requests[2].characteristic === strap.long)
    #expect(Set(requests.map(\.central)).count == 1)
    // One answer for all of them; only the first answer counts.
    strap.manager.respond(to: requests[0], withResult: .success)
    #expect(await central.receive() == [0x19])
    strap.manager.respond(to: requests[1], withResult: .unlikelyError)
    // A refused batch changes nothing.
    _ = await central.ask([0x16, one, 0, 0, 0, 7])
    strap.kept.value = []
    central.send([0x18, 1])
    try await strap.log.next("write FF05 in 1")
    strap.manager.respond(
      to: try #require(strap.kept.value.first), withResult: CBATTError.Code(rawValue: 0x9F)!)
    #expect(await central.receive() == [0x01, 0x18, one, 0, 0x9F])
    // A cancelled batch is not delivered.
    _ = await central.ask([0x16, one, 0, 0, 0, 7])
    #expect(await central.ask([0x18, 0]) == [0x19])
    #expect(strap.log.all.filter { $0.hasPrefix("write") }.count == 2)
    strap.kept.value = []
    await central.end()
  }

  @Test func truncatesUpdates() async throws {
    try await strap.log.next("advertising begun")
    let central = try await RawCentral(to: address(of: strap.manager))
    let rate = try await handle(of: strap.rate)
    #expect(await central.ask([0x12, rate + 1, 0, 1, 0]) == [0x13])
    #expect(try await strap.log.next("subscribed") == "subscribed 2A37 20")
    strap.manager.updateValue(
      Data(0..<30), for: strap.rate, onSubscribedCentrals: strap.rate.subscribedCentrals)
    #expect(await central.receive() == [0x1B, rate, 0] + Array(0..<20))
    // To none of the subscribers.
    strap.manager.updateValue(Data([1]), for: strap.rate, onSubscribedCentrals: [])
    strap.manager.updateValue(Data([2]), for: strap.rate, onSubscribedCentrals: nil)
    #expect(await central.receive() == [0x1B, rate, 0, 2])
    await central.end()
  }

  @Test func refusesInvalidServices() async throws {
    try await strap.log.next("advertising begun")
    strap.manager.add(CBMutableService(type: CBUUID(string: "1801"), primary: true))
    #expect(try await strap.log.next("added 1801").contains("uuidNotAllowed"))
    let outer = CBMutableService(type: CBUUID(string: "FEED"), primary: true)
    outer.includedServices = [CBMutableService(type: CBUUID(string: "FEEE"), primary: true)]
    strap.manager.add(outer)
    #expect(try await strap.log.next("added FEED").contains("invalidParameters"))
    // A refused service can be added after it was corrected.
    outer.includedServices = [strap.battery]
    strap.manager.add(outer)
    try await strap.log.next("added FEED well")
  }

  /// Services remain published while the radio is off, and are removed when it has gone.
  @Test func databaseSurvivesPowerOff() async throws {
    try await watch.getReady()
    strap.restored.value = [strap.service]  // Nothing is added again.
    let radio = try #require(await strap.manager.engine.radio)
    await radio.set(.poweredOff)
    try await strap.log.next("state poweredOff")
    try await watch.log.next("disconnected")
    #expect(!strap.manager.isAdvertising)
    await radio.set(.poweredOn)
    try await strap.log.next("state poweredOn")
    strap.manager.startAdvertising([
      CBAdvertisementDataLocalNameKey: strap.name,
      CBAdvertisementDataServiceUUIDsKey: [strap.service.uuid],
    ])
    try await watch.manager.openConnection(to: watch.peripheral)
    #expect(try await watch.peripheral.discoverAll().map(\.uuid.uuidString) == ["180D"])
    await radio.set(.resetting)
    try await strap.log.next("state resetting")
    try await watch.log.next("disconnected")
    await radio.set(.poweredOn)
    try await strap.log.next("state poweredOn")
    strap.manager.startAdvertising([CBAdvertisementDataLocalNameKey: strap.name])
    try await watch.manager.openConnection(to: watch.peripheral)
    #expect(try await watch.peripheral.discoverAll().isEmpty)
    // The same service can be added again.
    strap.manager.add(strap.battery)
    try await strap.log.next("added 180F well")
    strap.restored.value = []
  }

  /// Subscribing requires an encrypted link. The central encrypts it automatically.
  @Test func subscriptionsThatRequireEncryption() async throws {
    try await strap.log.next("advertising begun")
    let guarded = CBMutableCharacteristic(
      type: CBUUID(string: "FF10"), properties: [.notifyEncryptionRequired], value: nil,
      permissions: [.readEncryptionRequired])
    let service = CBMutableService(type: CBUUID(string: "FF0F"), primary: true)
    service.characteristics = [guarded]
    strap.manager.add(service)
    try await strap.log.next("added FF0F well")
    let raw = try await RawCentral(to: address(of: strap.manager))
    let place = try await handle(of: guarded)
    let refusal = await raw.ask([0x12, place + 1, 0, 1, 0])
    #expect(refusal.first == 0x01 && [0x05, 0x0F].contains(refusal.last), "\(refusal)")
    await raw.end()
    try await watch.getReady()
    _ = try await watch.peripheral.discoverAll()
    let found = try watch.characteristic("FF10")
    #expect(found.properties.contains(.notify))
    try watch.peripheral.setNotifyValue(true, for: found)
    try await watch.log.next("notifying FF10 true well")
  }
}

extension RadioContext {
  /// May be called on any thread.
  nonisolated func address(isolation: Void) async -> BluetoothAddress {
    await Task { @RadioLoop in self.address }.value
  }
}

private final class Brief: NSObject, CBCentralManagerDelegate, CBPeripheralManagerDelegate,
  CBPeripheralDelegate
{
  func centralManagerDidUpdateState(_ central: CBCentralManager) {}
  func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) {}
}

/// Reconnects with Apple's option and implements the longer form of the callback.
private final class Reconnecting: NSObject, CBCentralManagerDelegate {
  let log = EventLog()
  private(set) var manager: CBCentralManager!
  private(set) var found: CBPeripheral?
  private let wanted: String

  init(_ radio: CBRadio, for wanted: String) {
    self.wanted = wanted
    super.init()
    manager = CBCentralManager(
      delegate: self, queue: DispatchQueue(label: "reconnecting"), options: nil, radio: radio)
  }
  func centralManagerDidUpdateState(_ central: CBCentralManager) {
    if central.state == .poweredOn { central.scanForPeripherals(withServices: nil) }
  }
  func centralManager(
    _ central: CBCentralManager, didDiscover peripheral: CBPeripheral,
    advertisementData: [String: Any], rssi RSSI: NSNumber
  ) {
    guard found == nil, peripheral.name == wanted else { return }
    found = peripheral
    central.stopScan()
    central.connect(
      peripheral,
      options: [CBConnectPeripheralOptionEnableAutoReconnect: NSNumber(value: true)])
  }
  func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
    log.add("connected")
  }
  func centralManager(
    _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral,
    timestamp: CFAbsoluteTime, isReconnecting: Bool, error: (any Error)?
  ) {
    let age = abs(Date().timeIntervalSinceReferenceDate - timestamp)
    let code = (error as? CBError)?.errorCode ?? 0
    log.add("disconnected \(isReconnecting) \(code) \(peripheral.state)\(age < 60 ? "" : " odd")")
  }
  func centralManager(
    _ central: CBCentralManager, didDisconnectPeripheral peripheral: CBPeripheral,
    error: (any Error)?
  ) {
    log.add("both forms were called")
  }
}

/// Records all discoveries of a scan.
private final class Finder: NSObject, CBCentralManagerPresenceDelegate {
  let log = EventLog()
  private(set) var manager: CBCentralManager!

  init(_ radio: CBRadio) {
    super.init()
    manager = CBCentralManager(
      delegate: self, queue: DispatchQueue(label: "finder"), options: nil, radio: radio)
  }
  func centralManagerDidUpdateState(_ central: CBCentralManager) { log.add("state") }
  func centralManager(
    _ central: CBCentralManager, didDiscover peripheral: CBPeripheral,
    advertisementData: [String: Any], rssi RSSI: NSNumber
  ) {
    let solicited = advertisementData[CBAdvertisementDataSolicitedServiceUUIDsKey] as? [CBUUID]
    log.add("found \(solicited?.map(\.uuidString) ?? []) \(peripheral.name ?? "-")")
  }
  func centralManagerDidEndScan(_ central: CBCentralManager) { log.add("scan ended") }
}
