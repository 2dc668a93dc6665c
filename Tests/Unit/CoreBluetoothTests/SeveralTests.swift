import Atto
import Foundation
import TestSupport
import Testing

@testable import AttoCoreBluetooth

/// Several centrals of one peripheral, and several channels and queues of one app.
@Suite(.oneByOne) struct SeveralTests {
  let strap: Strap
  let name: String

  init() {
    let radio = Sandbox.radio()
    name = "Several \(Sandbox.number(of: radio))"
    strap = Strap(radio, name: name)
  }

  /// Each central gets as much of a value as its own MTU allows.
  @Test func centralsWithTheirOwnMTUs() async throws {
    try await strap.log.next("advertising begun")
    let address = await (try #require(await strap.manager.engine.radio)).address(isolation: ())
    var centrals: [(RawCentral, limit: Int)] = []
    for mtu in [23, 100, 300] as [UInt16] {
      let central = try await RawCentral(to: address)
      let answer = await central.ask([0x02, UInt8(mtu & 0xFF), UInt8(mtu >> 8)])
      #expect(answer.first == 0x03)
      centrals.append((central, Int(mtu) - 3))
    }
    let engine = strap.manager.engine
    let wanted = UncheckedBox(strap.rate)
    let found = await Task { @RadioLoop in
      engine.entries.first { $0.value.characteristic.content === wanted.content }?.key.rawValue
    }.value
    let rate = UInt8(try #require(found))
    for (central, limit) in centrals {
      #expect(await central.ask([0x12, rate + 1, 0, 1, 0]) == [0x13])
      #expect(try await strap.log.next("subscribed") == "subscribed 2A37 \(limit)")
    }
    let watch = Watch(Sandbox.radio(), for: name)
    try await watch.getReady()
    try watch.peripheral.setNotifyValue(true, for: watch.characteristic("2A37"))
    try await watch.log.next("notifying 2A37 true well")

    let value = (0..<400).map { UInt8(truncatingIfNeeded: $0) }
    strap.manager.updateValue(Data(value), for: strap.rate, onSubscribedCentrals: nil)
    for (central, limit) in centrals {
      #expect(await central.receive() == [0x1B, rate, 0] + value.prefix(limit))
    }
    #expect(try await watch.log.next("value 2A37").hasSuffix("of 400 well"))
    // To one of them, in the order of their subscriptions.
    let second = try #require(strap.rate.subscribedCentrals?.dropFirst().first)
    #expect(second.maximumUpdateValueLength == 97)
    strap.manager.updateValue(Data([1]), for: strap.rate, onSubscribedCentrals: [second])
    strap.manager.updateValue(Data([2]), for: strap.rate, onSubscribedCentrals: nil)
    #expect(await centrals[1].0.receive() == [0x1B, rate, 0, 1])
    for (central, _) in centrals { #expect(await central.receive() == [0x1B, rate, 0, 2]) }
    for (central, _) in centrals { await central.end() }
  }

  /// Channels carry octets while values are notified and written on the same link.
  @Test(.timeLimit(.minutes(5))) func channelsUnderLoad() async throws {
    let watch = Watch(Sandbox.radio(), for: name)
    try await watch.getReady()
    try watch.peripheral.setNotifyValue(true, for: watch.characteristic("2A37"))
    try await watch.log.next("notifying 2A37 true well")
    var sides: [(near: Side, far: Side)] = []
    for _ in 0..<3 {
      strap.manager.publishL2CAPChannel(withEncryption: false)
      let psm = try #require(UInt16(try await strap.log.next("published ").dropFirst(10)))
      try watch.peripheral.openL2CAPChannel(psm)
      try await watch.log.next("channel \(psm) well")
      try await strap.log.next("channel \(psm) well")
      sides.append(
        (Side(try #require(watch.channel.value)), Side(try #require(strap.channel.value))))
    }
    func content(_ number: Int) -> Data {
      Data((0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* (31 + number)) })
    }
    for (number, side) in sides.enumerated() {
      side.near.send(content(number))
      side.far.send(content(number + 10))
    }
    let long = Data(repeating: 7, count: 500)
    for number in 0..<100 {
      while !strap.manager.updateValue(
        Data([UInt8(number)]), for: strap.rate, onSubscribedCentrals: nil)
      {
        try await strap.log.next("ready")
      }
      try watch.peripheral.writeValue(long, for: watch.characteristic("FF02"), type: .withResponse)
    }
    for (number, side) in sides.enumerated() {
      try await side.near.log.next("received 200000")
      try await side.far.log.next("received 200000")
      let isWhole =
        side.far.received.value == content(number)
        && side.near.received.value == content(number + 10)
      #expect(isWhole, "channel \(number)")
      side.near.close()
    }
    while watch.log.all.filter({ $0 == "written FF02 well" }).count < 100 {
      try await watch.log.next("written FF02 well")
    }
    #expect(watch.log.all.filter { $0.hasPrefix("value 2A37") }.count == 100)
  }

  /// Two managers of one app, on the main queue and on another.
  @Test func managersOnTheirOwnQueues() async throws {
    let radio = Sandbox.radio()
    let monitor = await MainMonitor(radio, for: name)
    let watch = Watch(radio, for: name)
    try await watch.getReady()
    try watch.peripheral.setNotifyValue(true, for: watch.characteristic("2A37"))
    try await watch.log.next("notifying 2A37 true well")
    try await monitor.log.next("notifying true")
    strap.manager.updateValue(Data([0, 61]), for: strap.rate, onSubscribedCentrals: nil)
    try await monitor.log.next("rate 61")
    try await watch.log.next("value 2A37 [0, 61]")
    #expect(await monitor.rates == [61])
    await monitor.end()
    strap.manager.updateValue(Data([0, 62]), for: strap.rate, onSubscribedCentrals: nil)
    try await watch.log.next("value 2A37 [0, 62]")
    #expect(await monitor.rates == [61])
  }

  /// Two managers that share a link; the first is subscribed.
  private func twoOnOneLink() async throws -> (Watch, Watch) {
    let radio = Sandbox.radio()
    let (first, second) = (Watch(radio, for: name), Watch(radio, for: name))
    try await first.getReady()
    try await second.getReady()
    try first.peripheral.setNotifyValue(true, for: first.characteristic("2A37"))
    try await first.log.next("notifying 2A37 true well")
    return (first, second)
  }

  /// Two managers share a link and a configuration. One ends its subscription while the other begins:
  /// the peripheral has to send in the end, in whatever order the calls are carried out.
  @Test func oneEndsAsTheOtherBegins() async throws {
    let (first, second) = try await twoOnOneLink()
    var (ending, beginning) = (first, second)
    for round in 0..<20 as Range<UInt8> {
      try ending.peripheral.setNotifyValue(false, for: ending.characteristic("2A37"))
      try beginning.peripheral.setNotifyValue(true, for: beginning.characteristic("2A37"))
      try await beginning.log.next("notifying 2A37 true well")
      try await ending.log.next("notifying 2A37 false well")
      strap.manager.updateValue(Data([0, round]), for: strap.rate, onSubscribedCentrals: nil)
      try await beginning.log.next("value 2A37 [0, \(round)]")
      swap(&ending, &beginning)
    }
  }

  /// A manager that leaves a shared link does not leave the peripheral sending for nobody.
  @Test func theOneThatLeavesEndsItsSubscriptions() async throws {
    let (first, second) = try await twoOnOneLink()
    try first.manager.cancelPeripheralConnection(first.peripheral)
    try await strap.log.next("unsubscribed 2A37")
    #expect(try second.peripheral.state == .connected)
  }
}

/// A client in Swift 6 as apps write it: its state belongs to the main actor, and so do its callbacks,
/// which come on the main queue.
@MainActor final class MainMonitor: NSObject {
  let log = EventLog()
  private(set) var rates: [Int] = []
  private let wanted: String
  private var central: CBCentralManager!
  private var sensor: CBPeripheral?

  init(_ radio: CBRadio, for wanted: String) {
    self.wanted = wanted
    super.init()
    central = CBCentralManager(delegate: self, queue: nil, options: nil, radio: radio)
  }

  func end() {
    if let sensor { central.cancelPeripheralConnection(sensor) }
    (central, sensor) = (nil, nil)
  }
}

extension MainMonitor: @MainActor CBCentralManagerDelegate {
  func centralManagerDidUpdateState(_ central: CBCentralManager) {
    if central.state == .poweredOn {
      central.scanForPeripherals(withServices: [CBUUID(string: "180D")])
    }
  }

  func centralManager(
    _ central: CBCentralManager, didDiscover peripheral: CBPeripheral,
    advertisementData: [String: Any], rssi RSSI: NSNumber
  ) {
    guard advertisementData[CBAdvertisementDataLocalNameKey] as? String == wanted else { return }
    sensor = peripheral
    central.stopScan()
    central.connect(peripheral)
  }

  func centralManager(_ central: CBCentralManager, didConnect peripheral: CBPeripheral) {
    peripheral.delegate = self
    Task {
      let services = (try? await peripheral.discoverAll()) ?? []
      let all = services.flatMap { $0.characteristics ?? [] }
      guard let rate = all.first(where: { $0.uuid == CBUUID(string: "2A37") }) else { return }
      peripheral.setNotifyValue(true, for: rate)
    }
  }
}

extension MainMonitor: @preconcurrency CBPeripheralDelegate {
  func peripheral(
    _ peripheral: CBPeripheral, didUpdateNotificationStateFor characteristic: CBCharacteristic,
    error: (any Error)?
  ) {
    log.add("notifying \(characteristic.isNotifying)")
  }

  func peripheral(
    _ peripheral: CBPeripheral, didUpdateValueFor characteristic: CBCharacteristic,
    error: (any Error)?
  ) {
    guard let value = characteristic.value, value.count > 1 else { return }
    rates.append(Int(value[1]))
    log.add("rate \(value[1])")
  }
}
