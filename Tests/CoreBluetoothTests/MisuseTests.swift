import Atto
import Foundation
import Testing

@testable import CoreBluetooth

/// Each row of the documentation's table of misuse.
@Suite(.serialized) struct MisuseTests {
  /// What was said to the developer while a body ran; other tests may have said something too.
  private final class Lines: Sendable {
    let log = EventLog()
    init() {
      let log = log
      Misuse.listener.value = { log.add($0) }
    }
    deinit { Misuse.listener.value = nil }

    /// Whether something was said, by now, that has all of these words.
    func has(_ words: String...) -> Bool {
      log.all.contains { line in words.allSatisfy { line.contains($0) } }
    }
  }

  private func pair() -> (Strap, Watch) {
    let radio = Sandbox.radio()
    let name = "Misused \(Sandbox.number(of: radio))"
    return (Strap(radio, name: name), Watch(Sandbox.radio(), for: name))
  }

  @Test func commandsWhileNotPoweredOn() async throws {
    let lines = Lines()
    let (strap, watch) = pair()
    try await watch.getReady()
    let (central, peripheral) = (watch.manager!, watch.peripheral)
    let subscriber = strap.rate.subscribedCentrals?.first
    await central.engine.station!.set(.poweredOff)
    await strap.manager.engine.station!.set(.poweredOff)
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
    // That the connection has ended may be told before the state of the radio or after.
    let deadline = ContinuousClock.now + .seconds(120)
    while peripheral.state != .disconnected, .now < deadline { await Task.yield() }
    #expect(peripheral.state == .disconnected)
    #expect(!strap.log.all.contains { $0.hasPrefix("added FEED") })
  }

  @Test func whatBelongsToOthers() async throws {
    let lines = Lines()
    let (one, watch) = pair()
    let (two, other) = pair()
    try await watch.getReady()
    try await other.getReady()
    let count = watch.log.all.count
    let foreign = other.characteristic("2A37")
    watch.manager.connect(other.peripheral)
    #expect(lines.has("of another manager"))
    watch.peripheral.discoverCharacteristics(nil, for: foreign.service!)
    watch.peripheral.discoverIncludedServices(nil, for: foreign.service!)
    #expect(lines.has("is not a service of"))
    watch.peripheral.readValue(for: foreign)
    watch.peripheral.writeValue(Data(), for: foreign, type: .withResponse)
    watch.peripheral.setNotifyValue(true, for: foreign)
    watch.peripheral.discoverDescriptors(for: foreign)
    #expect(lines.has("is not a characteristic of"))
    let descriptor = CBMutableDescriptor(type: CBUUID(string: "2901"), value: "own")
    watch.peripheral.readValue(for: descriptor)
    watch.peripheral.writeValue(Data(), for: descriptor)
    #expect(lines.has("is not a descriptor of"))
    for _ in 0..<10 { await Task { @RadioLoop in await Task.yield() }.value }
    let news = watch.log.all.dropFirst(count).filter { !$0.hasPrefix("name") }
    #expect(news.isEmpty, "\(news)")
    withExtendedLifetime((one, two)) {}
  }

  /// Below poweredOff all peripherals are invalid, and others stand for their peers.
  @Test func peripheralsOfAFormerState() async throws {
    let lines = Lines()
    let (strap, watch) = pair()
    try await watch.getReady()
    let station = await watch.manager.engine.station!
    let old = watch.peripheral
    await station.set(.resetting)
    try await watch.log.next("state resetting")
    await station.set(.poweredOn)
    try await watch.log.next("state poweredOn")
    watch.manager.connect(old)
    #expect(lines.has("of a former state"))
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
    let inbox = watch.characteristic("FF03")
    watch.peripheral.writeValue(
      Data([1]), for: watch.characteristic("2A39"), type: .withoutResponse)
    #expect(lines.has("does not specify the \"Write Without Response\" property"))
    watch.peripheral.writeValue(Data(count: 513), for: inbox, type: .withoutResponse)
    #expect(lines.has("513 octets was dropped", "maximumWriteValueLength"))
    // The loop is held, so that nothing leaves.
    let isOver = DispatchSemaphore(value: 0)
    RadioLoop.later { isOver.wait() }
    for _ in 0..<4100 { watch.peripheral.writeValue(Data([1]), for: inbox, type: .withoutResponse) }
    isOver.signal()
    #expect(lines.has("4 writes without response were dropped", "canSendWriteWithoutResponse"))
    watch.peripheral.writeValue(Data([1]), for: watch.characteristic("2A39"), type: .withResponse)
    try await watch.log.next("written 2A39 well")
    #expect(strap.received.value.count == 4096)
    watch.manager.cancelPeripheralConnection(watch.peripheral)
    try await watch.log.next("disconnected")
    watch.peripheral.readRSSI()
    #expect(lines.has("can only accept commands while in the connected state"))
  }

  @Test func answersAndAdvertisements() async throws {
    let lines = Lines()
    let (strap, watch) = pair()
    try await watch.getReady()
    watch.peripheral.readValue(for: watch.characteristic("FF05"))
    try await strap.log.next("read FF05")
    let request = try #require(strap.kept.value.first)
    request.value = Data([7])
    strap.manager.respond(to: request, withResult: .success)
    strap.manager.respond(to: request, withResult: .unlikelyError)
    #expect(lines.has("a request was answered a second time"))
    #expect(try await watch.log.next("value") == "value FF05 [7] of 1 well")
    strap.kept.value = []
    strap.manager.stopAdvertising()
    strap.manager.startAdvertising([
      CBAdvertisementDataLocalNameKey: strap.name,
      CBAdvertisementDataTxPowerLevelKey: 4,
      CBAdvertisementDataServiceUUIDsKey: (0..<5).map { _ in CBUUID(nsuuid: UUID()) },
    ])
    #expect(lines.has("kCBAdvDataTxPowerLevel is not allowed"))
    try await strap.log.next("advertising begun")
    #expect(lines.has("of 5 services fit into the advertisement"))
    strap.manager.startAdvertising(nil)
    #expect(try await strap.log.next("advertising").contains("alreadyAdvertising"))
    let own = CBMutableCharacteristic(
      type: CBUUID(string: "FFAA"), properties: .notify, value: nil, permissions: [])
    strap.manager.updateValue(Data([1]), for: own, onSubscribedCentrals: nil)
    try await lines.log.next("a value of <CBCharacteristic: UUID = FFAA")
    watch.manager.registerForConnectionEvents(
      options: [.serviceUUIDs: (0..<5).map { CBUUID(string: "FF0\($0)") }])
    #expect(lines.has("only the first 4 services are taken"))
    // A characteristic that cannot be subscribed to, and a value that nobody can have.
    watch.peripheral.setNotifyValue(true, for: watch.characteristic("2A39"))
    #expect(try await watch.log.next("notifying") == "notifying 2A39 false CBATTError 6")
    watch.peripheral.writeValue(
      Data(count: 513), for: watch.characteristic("FF02"), type: .withResponse)
    #expect(try await watch.log.next("written") == "written FF02 CBATTError 13")
    #expect(CBRadio("usb9") == nil)
  }

  // MARK: What Apple's raises an exception for

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
      manager.shown.value = .poweredOn
      let service = CBMutableService(type: CBUUID(string: "180D"), primary: true)
      manager.add(service)
      manager.add(service)
    }
    // The same without the mistake does not.
    await #expect(processExitsWith: .success) {
      _ = CBUUID(string: "180D")
      _ = CBMutableDescriptor(type: CBUUID(string: "2901"), value: "text")
    }
  }
}
