import Foundation
import TestSupport
import Testing

@testable import AttoCoreBluetooth

/// Releasing, concurrency, misuse and many peers.
@Suite(.oneByOne) struct StressTests {
  @Test func leaksNothing() async throws {
    weak var manager: CBCentralManager?
    weak var peripheral: CBPeripheral?
    weak var characteristic: CBCharacteristic?
    weak var publisher: CBPeripheralManager?
    weak var context: RadioContext?
    do {
      let radio = Sandbox.radio()
      let name = "Gone \(Sandbox.number(of: radio))"
      let strap = Strap(radio, name: name)
      let watch = Watch(Sandbox.radio(), for: name)
      try await watch.getReady()
      try watch.peripheral.setNotifyValue(true, for: watch.characteristic("2A37"))
      try await watch.log.next("notifying")
      manager = watch.manager
      peripheral = try watch.peripheral
      characteristic = try watch.characteristic("2A37")
      publisher = strap.manager
      context = await strap.manager.engine.radio
      strap.release()
      watch.release()
    }
    // Pending work ends within a few turns of the loop and of the queues.
    let deadline = ContinuousClock.now + .seconds(120)
    while peripheral != nil || publisher != nil || context != nil, .now < deadline {
      await Task { @RadioLoop in await Task.yield() }.value
      await withCheckedContinuation { continuation in
        DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(1)) {
          continuation.resume()
        }
      }
    }
    #expect(manager == nil)
    #expect(peripheral == nil)
    #expect(characteristic == nil)
    #expect(publisher == nil)
    #expect(context == nil)
  }

  /// An app that creates its manager again gets the same radio and address.
  @Test func recreatedManagerGetsItsRadio() async throws {
    let radio = Sandbox.radio()
    var addresses: Set<String> = []
    for turn in 0..<20 {
      let watch = Watch(radio, for: "nobody")
      #expect(try await watch.log.next("state") == "state poweredOn", "turn \(turn)")
      let address = await (try #require(await watch.manager.engine.radio)).address
      addresses.insert("\(address)")
      watch.release()
    }
    #expect(addresses.count == 1)
  }

  @Test func callsBackInOrderOnAConcurrentQueue() async throws {
    let radio = Sandbox.radio()
    let name = "Many \(Sandbox.number(of: radio))"
    let strap = Strap(radio, name: name)
    let watch = Watch(
      Sandbox.radio(), for: name,
      queue: DispatchQueue(label: "concurrent", attributes: .concurrent))
    try await watch.getReady()
    try watch.peripheral.setNotifyValue(true, for: watch.characteristic("2A37"))
    try await watch.log.next("notifying")
    for number in 0..<30 {
      strap.manager.updateValue(Data([UInt8(number)]), for: strap.rate, onSubscribedCentrals: nil)
    }
    for number in 0..<30 {
      #expect(try await watch.log.next("value") == "value 2A37 [\(number)] of 1 well")
    }
  }

  @Test func cancelsAnUnansweredConnection() async throws {
    let watch = Watch(Sandbox.radio(), for: "nobody")
    try await watch.log.next("state poweredOn")
    let identifier = UUID()
    KnownPeers.met(identifier, .init(0xC0_11_22_33_44_55, kind: .random), name: "Nobody")
    let peripheral = try #require(
      watch.manager.retrievePeripherals(withIdentifiers: [identifier, UUID()]).first)
    #expect(peripheral.name == "Nobody")
    #expect(watch.manager.retrievePeripherals(withIdentifiers: [identifier]).first === peripheral)
    watch.manager.connect(peripheral)
    #expect(peripheral.state == .connecting)
    watch.manager.cancelPeripheralConnection(peripheral)
    #expect(try await watch.log.next("disconnected") == "disconnected well")
    #expect(peripheral.state == .disconnected)
  }

  @Test func ignoresMisuse() async throws {
    let radio = Sandbox.radio()
    let name = "Misused \(Sandbox.number(of: radio))"
    let strap = Strap(radio, name: name)
    let watch = Watch(Sandbox.radio(), for: name)
    // The radio is not on yet.
    watch.manager.scanForPeripherals(withServices: nil)
    #expect(!watch.manager.isScanning || watch.manager.state == .poweredOn)
    try await watch.getReady()
    let other = Watch(Sandbox.radio(), for: "nobody")
    try await other.log.next("state poweredOn")
    // Another manager's peripheral.
    try other.manager.connect(watch.peripheral)
    try other.manager.cancelPeripheralConnection(watch.peripheral)
    // A write without response to a characteristic without it, and one that is too long.
    try watch.peripheral.writeValue(
      Data([1]), for: watch.characteristic("2A39"), type: .withoutResponse)
    try watch.peripheral.writeValue(
      Data(count: 600), for: watch.characteristic("FF03"), type: .withoutResponse)
    // The connection is not affected.
    try watch.peripheral.writeValue(
      Data([1]), for: watch.characteristic("2A39"), type: .withResponse)
    #expect(try await watch.log.next("written") == "written 2A39 well")
    strap.manager.startAdvertising(nil)
    #expect(try await strap.log.next("advertising CBError").contains("alreadyAdvertising"))
    try watch.manager.cancelPeripheralConnection(watch.peripheral)
    try await watch.log.next("disconnected")
    let calls = watch.log.all.count
    try watch.peripheral.discoverServices(nil)
    try watch.peripheral.readRSSI()
    #expect(watch.log.all.count == calls)
  }

  @Test func sharesALinkBetweenManagers() async throws {
    let radio = Sandbox.radio()
    let name = "Shared \(Sandbox.number(of: radio))"
    let strap = Strap(radio, name: name)
    let central = Sandbox.radio()
    let one = Watch(central, for: name)
    let two = Watch(central, for: name)
    try await one.getReady()
    try await two.getReady()
    #expect(try one.peripheral.identifier == two.peripheral.identifier)
    for watch in [one, two] {
      try watch.peripheral.setNotifyValue(true, for: watch.characteristic("2A37"))
      try await watch.log.next("notifying")
    }
    #expect(
      try one.manager.retrieveConnectedPeripherals(withServices: [CBUUID(string: "180D")]).first
        === one.peripheral)
    #expect(
      one.manager.retrieveConnectedPeripherals(withServices: [CBUUID(string: "FFFF")]).isEmpty)
    strap.manager.updateValue(Data([5]), for: strap.rate, onSubscribedCentrals: nil)
    for watch in [one, two] { try await watch.log.next("value 2A37 [5]") }
    try one.manager.cancelPeripheralConnection(one.peripheral)
    try await one.log.next("disconnected well")
    strap.manager.updateValue(Data([6]), for: strap.rate, onSubscribedCentrals: nil)
    try await two.log.next("value 2A37 [6]")
    #expect(!one.log.all.contains { $0.hasPrefix("value 2A37 [6]") })
  }

  @Test func connectsAHundredPeripherals() async throws {
    let names = (0..<100).map { _ in Sandbox.radio() }
    let straps = names.map { Strap($0, name: "Crowd \(Sandbox.number(of: $0))") }
    for strap in straps { try await strap.log.next("advertising begun") }
    let crowd = Crowd(Sandbox.radio(), straps.count)
    try await crowd.log.next("all 100")
    #expect(crowd.log.all.filter { $0.hasPrefix("connected") }.count == 100)
  }
}

/// Connects to all devices with the name Crowd.
private final class Crowd: NSObject, CBCentralManagerDelegate {
  let log = EventLog()
  private var manager: CBCentralManager!
  private var found: [CBPeripheral] = []
  private var connected = 0
  private let count: Int

  init(_ radio: CBRadio, _ count: Int) {
    self.count = count
    super.init()
    manager = CBCentralManager(
      delegate: self, queue: DispatchQueue(label: "crowd"), options: nil, radio: radio)
  }
  func centralManagerDidUpdateState(_ central: CBCentralManager) {
    if central.state == .poweredOn { central.scanForPeripherals(withServices: nil) }
  }
  func centralManager(
    _ central: CBCentralManager, didDiscover peripheral: CBPeripheral,
    advertisementData: [String: Any], rssi RSSI: NSNumber
  ) {
    guard peripheral.name?.hasPrefix("Crowd ") == true else { return }
    found.append(peripheral)
    central.connect(peripheral)
  }
  func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
    connected += 1
    log.add("connected \(connected)")
    if connected == count { log.add("all \(connected)") }
  }
}
