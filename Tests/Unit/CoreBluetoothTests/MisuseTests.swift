import Atto
import Foundation
import TestSupport
import Testing

@testable import AttoCoreBluetooth

/// Each row of the documentation's table of misuse.
@Suite(.serialized, .oneByOne) struct MisuseTests {
  /// The warnings while a test runs. Other tests may add some.
  private final class Lines: Sendable {
    let log = EventLog()
    init() {
      let log = log
      Warning.listener.value = { log.add($0) }
    }
    deinit { Warning.listener.value = nil }

    /// Whether a warning contains all of these words.
    func has(_ words: String...) -> Bool {
      log.all.contains { line in words.allSatisfy { line.contains($0) } }
    }
  }

  private func pair() -> (Strap, Watch) {
    let radio = Sandbox.radio()
    let name = "Misused \(Sandbox.number(of: radio))"
    return (Strap(radio, name: name), Watch(Sandbox.radio(), for: name))
  }

  @Test func keysAndObservationsThatDoNotExist() async throws {
    let lines = Lines()
    let (strap, watch) = pair()
    try await watch.getReady()
    let peripheral = try watch.peripheral
    #expect(peripheral.value(forKey: "connectedTransport") == nil)
    #expect(lines.has("CBPeripheral has no value for the key \"connectedTransport\""))
    let rate = try watch.characteristic("2A37")
    let observations = [
      rate.observe(\.value) { _, _ in }, rate.observe(\.isNotifying) { _, _ in },
    ]
    // Once, however many there are.
    let said = lines.log.all.filter { $0.contains("observe(_:) of a CBCharacteristic") }
    #expect(said.count == 1 && said[0].contains("implement the delegate's method"))
    withExtendedLifetime((observations, strap)) {}
  }

  @Test func commandsWhileNotPoweredOn() async throws {
    let lines = Lines()
    let (strap, watch) = pair()
    try await watch.getReady()
    let (central, peripheral) = try (watch.manager!, watch.peripheral)
    let subscriber = strap.rate.subscribedCentrals?.first
    await (try #require(await central.engine.radio)).set(.poweredOff)
    await (try #require(await strap.manager.engine.radio)).set(.poweredOff)
    try await watch.log.next("state poweredOff")
    try await strap.log.next("state poweredOff")
    let before = lines.log.all.count
    central.scanForPeripherals(withServices: nil)
    central.connect(peripheral)
    central.cancelPeripheralConnection(peripheral)
    central.registerForConnectionEvents(options: [:])
    let centrals = lines.log.all.dropFirst(before).filter {
      $0.contains("API MISUSE: CBCentralManager can only accept this command while")
    }
    #expect(centrals.count == 4)
    let manager = strap.manager!
    manager.startAdvertising(nil)
    manager.stopAdvertising()
    manager.add(CBMutableService(type: CBUUID(string: "FEED"), primary: true))
    manager.remove(strap.service)
    manager.removeAllServices()
    #expect(!manager.updateValue(Data(), for: strap.rate, onSubscribedCentrals: nil))
    manager.publishL2CAPChannel(withEncryption: false)
    manager.unpublishL2CAPChannel(0x80)
    if let subscriber { manager.setDesiredConnectionLatency(.low, for: subscriber) }
    let publishers = lines.log.all.filter {
      $0.contains("API MISUSE: CBPeripheralManager can only accept this command while")
    }
    #expect(publishers.count >= 8)
    #expect(!central.isScanning)
    // The end of the connection may be reported before or after the state of the radio.
    let deadline = ContinuousClock.now + .seconds(120)
    while peripheral.state != .disconnected, .now < deadline { await Task.yield() }
    #expect(peripheral.state == .disconnected)
    #expect(!strap.log.all.contains { $0.hasPrefix("added FEED") })
  }

  /// A method that a subclass adds to the conformance of its superclass.
  private class Base: NSObject, CBCentralManagerDelegate, CBPeripheralManagerDelegate {
    let log = EventLog()
    func centralManagerDidUpdateState(_ central: CBCentralManager) { log.add("central") }
    func peripheralManagerDidUpdateState(_ peripheral: CBPeripheralManager) { log.add("publisher") }
  }
  private class Middle: Base {}
  private final class Adding: Middle {
    func centralManager(_ central: CBCentralManager, willRestoreState dict: [String: Any]) {
      log.add("restored")
    }
  }

  @Test func restorationThatIsNotHeard() async throws {
    let lines = Lines()
    let radio = Sandbox.radio()
    let identifier = "Unheard \(Sandbox.number(of: radio))"
    let text = "{\"version\": 1, \"content\": {\"peers\": [], \"services\": []}}"
    for kind in [SavedState.Kind.central, .peripheral] {
      SavedState.shared.write(Data(text.utf8), to: SavedState.Key(kind: kind, name: identifier))
    }
    let (adding, base) = (Adding(), Base())
    let central = CBCentralManager(
      delegate: adding, queue: .global(),
      options: [CBCentralManagerOptionRestoreIdentifierKey: identifier], radio: radio)
    let publisher = CBPeripheralManager(
      delegate: base, queue: .global(),
      options: [CBPeripheralManagerOptionRestoreIdentifierKey: identifier], radio: radio)
    try await adding.log.next("central")
    try await base.log.next("publisher")
    #expect(adding.log.all == ["central"])
    #expect(
      lines.has(
        "CBCentralManager has provided a restore identifier",
        "implement centralManager(_:willRestoreState:): Adding", "declare it in Base too"))
    let others = lines.log.all.filter { $0.contains("implement peripheralManager(") }
    #expect(others.count == 1 && others[0].contains("Base") && !others[0].contains("hint"))
    withExtendedLifetime((central, publisher)) {}
  }

  @Test func objectsOfOtherManagers() async throws {
    let lines = Lines()
    let (one, watch) = pair()
    let (two, other) = pair()
    try await watch.getReady()
    try await other.getReady()
    let count = watch.log.all.count
    let foreign = try other.characteristic("2A37")
    try watch.manager.connect(other.peripheral)
    #expect(lines.has("belongs to another manager"))
    let service = try #require(foreign.service)
    try watch.peripheral.discoverCharacteristics(nil, for: service)
    try watch.peripheral.discoverIncludedServices(nil, for: service)
    #expect(lines.has("is not a service of"))
    try watch.peripheral.readValue(for: foreign)
    try watch.peripheral.writeValue(Data(), for: foreign, type: .withResponse)
    try watch.peripheral.setNotifyValue(true, for: foreign)
    try watch.peripheral.discoverDescriptors(for: foreign)
    #expect(lines.has("is not a characteristic of"))
    let descriptor = CBMutableDescriptor(type: CBUUID(string: "2901"), value: "own")
    try watch.peripheral.readValue(for: descriptor)
    try watch.peripheral.writeValue(Data(), for: descriptor)
    #expect(lines.has("is not a descriptor of"))
    for _ in 0..<10 { await Task { @RadioLoop in await Task.yield() }.value }
    let news = watch.log.all.dropFirst(count).filter { !$0.hasPrefix("name") }
    #expect(news.isEmpty, "\(news)")
    withExtendedLifetime((one, two)) {}
  }

  /// A state below poweredOff invalidates all peripherals; their peers get new objects.
  @Test func peripheralsOfAFormerState() async throws {
    let lines = Lines()
    let (strap, watch) = pair()
    try await watch.getReady()
    let radio = try #require(await watch.manager.engine.radio)
    let old = try watch.peripheral
    await radio.set(.resetting)
    try await watch.log.next("state resetting")
    await radio.set(.poweredOn)
    try await watch.log.next("state poweredOn")
    watch.manager.connect(old)
    #expect(lines.has("was invalidated by a state below"))
    await #expect(throws: CBError(.invalidParameters)) {
      try await watch.manager.openConnection(to: old)
    }
    #expect(old.state == .disconnected)
    let new = try #require(
      watch.manager.retrievePeripherals(withIdentifiers: [old.identifier]).first)
    #expect(new !== old && new.identifier == old.identifier)
    try await watch.manager.openConnection(to: new)
    #expect(old.state == .disconnected && new.state == .connected)
    withExtendedLifetime(strap) {}
  }

  @Test func writesWithoutResponse() async throws {
    let lines = Lines()
    let (strap, watch) = pair()
    try await watch.getReady()
    let inbox = try watch.characteristic("FF03")
    try watch.peripheral.writeValue(
      Data([1]), for: watch.characteristic("2A39"), type: .withoutResponse)
    #expect(lines.has("does not specify the \"Write Without Response\" property"))
    try watch.peripheral.writeValue(Data(count: 513), for: inbox, type: .withoutResponse)
    #expect(lines.has("write without response of 513 octets", "maximumWriteValueLength"))
    let peripheral = try watch.peripheral
    // The loop is blocked, so that nothing is sent.
    let isOver = DispatchSemaphore(value: 0)
    RadioLoop.later { isOver.wait() }
    for _ in 0..<4100 { peripheral.writeValue(Data([1]), for: inbox, type: .withoutResponse) }
    isOver.signal()
    #expect(lines.has("dropped 4 writes without response", "canSendWriteWithoutResponse"))
    peripheral.writeValue(Data([1]), for: try watch.characteristic("2A39"), type: .withResponse)
    try await watch.log.next("written 2A39 well")
    #expect(strap.received.value.count == 4096)
    try watch.manager.cancelPeripheralConnection(watch.peripheral)
    try await watch.log.next("disconnected")
    try watch.peripheral.readRSSI()
    #expect(lines.has("can only accept commands while in the connected state"))
  }

  @Test func answersAndAdvertisements() async throws {
    let lines = Lines()
    let (strap, watch) = pair()
    try await watch.getReady()
    try watch.peripheral.readValue(for: watch.characteristic("FF05"))
    try await strap.log.next("read FF05")
    let request = try #require(strap.kept.value.first)
    request.value = Data([7])
    strap.manager.respond(to: request, withResult: .success)
    strap.manager.respond(to: request, withResult: .unlikelyError)
    #expect(lines.has("respond(to:withResult:) was called twice"))
    #expect(try await watch.log.next("value") == "value FF05 [7] of 1 well")
    strap.kept.value = []
    strap.manager.stopAdvertising()
    strap.manager.startAdvertising([
      CBAdvertisementDataLocalNameKey: strap.name,
      CBAdvertisementDataTxPowerLevelKey: 4,
      CBAdvertisementDataServiceUUIDsKey: (0..<5).map { _ in CBUUID(nsuuid: UUID()) },
    ])
    #expect(lines.has("kCBAdvDataTxPowerLevel is not supported"))
    try await strap.log.next("advertising begun")
    #expect(lines.has("of 5 services: the others do not fit"))
    strap.manager.startAdvertising(nil)
    #expect(try await strap.log.next("advertising").contains("alreadyAdvertising"))
    let own = CBMutableCharacteristic(
      type: CBUUID(string: "FFAA"), properties: .notify, value: nil, permissions: [])
    strap.manager.updateValue(Data([1]), for: own, onSubscribedCentrals: nil)
    try await lines.log.next("dropped a value of <CBCharacteristic: UUID = FFAA")
    watch.manager.registerForConnectionEvents(
      options: [.serviceUUIDs: (0..<5).map { CBUUID(string: "FF0\($0)") }])
    #expect(lines.has("only the first 4 are used"))
    // A characteristic without notifications, and a value that is too long.
    try watch.peripheral.setNotifyValue(true, for: watch.characteristic("2A39"))
    #expect(try await watch.log.next("notifying") == "notifying 2A39 false CBATTError 6")
    try watch.peripheral.writeValue(
      Data(count: 513), for: watch.characteristic("FF02"), type: .withResponse)
    #expect(try await watch.log.next("written") == "written FF02 CBATTError 13")
  }

  @Test(arguments: [
    ("air", CBRadio.air(nil)), ("air:", .air(nil)), ("air:Strap", .air("Strap")),
    ("hci", .adapter(nil)), ("le:", .adapter(nil)), ("hci7", .adapter(7)),
    ("le:@hci7", .adapter(7)), ("usb9", nil), ("hci-1", nil), ("hcix", nil), ("le:@air", nil),
    ("le:@hci", nil), ("hci+7", nil), ("hci65536", nil), ("", nil),
  ]) func radios(text: String, radio: CBRadio?) {
    #expect(CBRadio(text) == radio)
  }

  // MARK: Traps

  @Test func traps() async {
    await #expect(processExitsWith: .failure) { _ = CBUUID(string: "no UUID") }
    await #expect(processExitsWith: .failure) { _ = CBUUID(data: Data([1, 2, 3])) }
    await #expect(processExitsWith: .failure) {
      _ = CBMutableDescriptor(type: CBUUID(string: "2902"), value: Data([0, 0]))
    }
    await #expect(processExitsWith: .failure) {
      _ = CBMutableDescriptor(type: CBUUID(string: "2901"), value: 7)
    }
    await #expect(processExitsWith: .failure) {
      let service = CBMutableService(type: CBUUID(string: "180D"), primary: true)
      service.characteristics = [
        CBMutableCharacteristic(
          type: CBUUID(string: "2A37"), properties: [.read, .write], value: Data([1]),
          permissions: [.readable, .writeable])
      ]
      _ = Publication(service)
    }
    await #expect(processExitsWith: .failure) {
      let service = CBMutableService(type: CBUUID(string: "180D"), primary: true)
      service.characteristics = [CBCharacteristic(type: CBUUID(string: "2A37"), properties: .read)]
      _ = Publication(service)
    }
    await #expect(processExitsWith: .failure) {
      let manager = CBCentralManager(delegate: nil, queue: DispatchQueue(label: "traps"))
      let peripheral = manager.peripheral(UUID(), .init(1), name: nil)
      peripheral.writeValue(
        Data([1, 0]), for: CBDescriptor(type: CBUUID(string: "2902")))
    }
    await #expect(processExitsWith: .failure) {
      let manager = CBPeripheralManager(delegate: nil, queue: DispatchQueue(label: "traps"))
      manager.slot.withLock { $0.state = .poweredOn }
      let service = CBMutableService(type: CBUUID(string: "180D"), primary: true)
      manager.add(service)
      manager.add(service)
    }
    // The correct call does not trap.
    await #expect(processExitsWith: .success) {
      _ = CBUUID(string: "180D")
      _ = CBMutableDescriptor(type: CBUUID(string: "2901"), value: "text")
    }
  }
}
