import Foundation
import TestSupport
import Testing

@testable import AttoCoreBluetooth

/// A strap and a watch on the virtual air, used as in apps.
@Suite(.oneByOne) struct PairTests {
  let strap: Strap
  let watch: Watch

  init() {
    let radio = Sandbox.radio()
    let name = "Strap \(Sandbox.number(of: radio))"
    strap = Strap(radio, name: name)
    watch = Watch(Sandbox.radio(), for: name)
  }

  @Test func discoversAndConnects() async throws {
    try await strap.log.next("added 180F well")
    try await strap.log.next("added 180D well")
    try await strap.log.next("advertising begun")
    #expect(watch.manager.state == .unknown || watch.manager.state == .poweredOn)
    try await watch.log.next("state poweredOn")
    watch.manager.scanForPeripherals(withServices: [CBUUID(string: "180D")])
    #expect(watch.manager.isScanning)
    #expect(try await watch.log.next("found") == "found -50 true")
    watch.manager.stopScan()
    #expect(try watch.peripheral.name == strap.name)
    let peripheral = try watch.peripheral
    // The state changes on this queue.
    watch.queue.sync {
      watch.manager.connect(peripheral)
      #expect(peripheral.state == .connecting)
    }
    #expect(try await watch.log.next("connected") == "connected 2")
    peripheral.delegate = watch
    try watch.peripheral.discoverServices(nil)
    #expect(try await watch.log.next("services") == "services [\"180D\"] well")
    let service = try #require(try watch.peripheral.services?.first)
    try watch.peripheral.discoverIncludedServices(nil, for: service)
    #expect(try await watch.log.next("included") == "included [\"180F\"] well")
    try watch.peripheral.discoverCharacteristics([CBUUID(string: "2A37")], for: service)
    #expect(try await watch.log.next("characteristics") == "characteristics 1 well")
    let rate = try watch.characteristic("2A37")
    try watch.peripheral.discoverCharacteristics(nil, for: service)
    #expect(try await watch.log.next("characteristics") == "characteristics 8 well")
    #expect(try watch.characteristic("2A37") === rate)
    #expect(rate.properties == .notify)
    try watch.peripheral.discoverDescriptors(for: watch.characteristic("FF02"))
    #expect(try await watch.log.next("descriptors") == "descriptors [\"2901\"] well")
    try watch.peripheral.readValue(
      for: try #require(try watch.characteristic("FF02").descriptors?.first))
    #expect(try await watch.log.next("descriptor ") == "descriptor long one well")
    try watch.peripheral.readRSSI()
    #expect(try await watch.log.next("rssi") == "rssi -50")
    try watch.manager.cancelPeripheralConnection(watch.peripheral)
    #expect(try await watch.log.next("disconnected") == "disconnected well")
    #expect(try watch.peripheral.state == .disconnected)
  }

  @Test func readsAndWrites() async throws {
    try await watch.getReady()
    let peripheral = try watch.peripheral
    try peripheral.readValue(for: watch.characteristic("2A38"))
    #expect(try await watch.log.next("value") == "value 2A38 [1] of 1 well")
    try peripheral.readValue(for: watch.characteristic("FF02"))
    #expect(try await watch.log.next("value") == "value FF02 [0, 1, 2, 3] of 500 well")
    try peripheral.writeValue(Data([1]), for: watch.characteristic("2A39"), type: .withResponse)
    #expect(try await watch.log.next("written") == "written 2A39 well")
    try peripheral.writeValue(Data([2]), for: watch.characteristic("2A39"), type: .withResponse)
    #expect(try await watch.log.next("written") == "written 2A39 CBATTError 128")
    try peripheral.readValue(for: watch.characteristic("2A37"))
    #expect(try await watch.log.next("value 2A37").hasSuffix("CBATTError 2"))
    // A protected value: the link is encrypted automatically.
    try peripheral.readValue(for: watch.characteristic("FF04"))
    #expect(try await watch.log.next("value FF04").hasSuffix("of 500 well"))
    let long = Data(repeating: 7, count: 512)
    try peripheral.writeValue(long, for: watch.characteristic("FF02"), type: .withResponse)
    #expect(try await watch.log.next("written") == "written FF02 well")
    #expect(strap.content.value == long)
    peripheral.writeValue(
      Data(count: 513), for: try watch.characteristic("FF02"), type: .withResponse)
    #expect(try await watch.log.next("written") == "written FF02 CBATTError 13")
  }

  @Test func notifiesAndIndicates() async throws {
    try await watch.getReady()
    let peripheral = try watch.peripheral
    try peripheral.setNotifyValue(true, for: watch.characteristic("2A37"))
    #expect(try await watch.log.next("notifying") == "notifying 2A37 true well")
    #expect(try await strap.log.next("subscribed") == "subscribed 2A37 512")
    #expect(strap.rate.subscribedCentrals?.count == 1)
    #expect(strap.manager.updateValue(Data([9, 8]), for: strap.rate, onSubscribedCentrals: nil))
    #expect(try await watch.log.next("value") == "value 2A37 [9, 8] of 2 well")
    try peripheral.setNotifyValue(true, for: watch.characteristic("FF01"))
    #expect(try await watch.log.next("notifying") == "notifying FF01 true well")
    strap.manager.updateValue(Data([1]), for: strap.alarm, onSubscribedCentrals: nil)
    #expect(try await watch.log.next("value") == "value FF01 [1] of 1 well")
    try peripheral.setNotifyValue(true, for: watch.characteristic("2A39"))
    #expect(try await watch.log.next("notifying") == "notifying 2A39 false CBATTError 6")
    try peripheral.setNotifyValue(false, for: watch.characteristic("2A37"))
    #expect(try await watch.log.next("notifying") == "notifying 2A37 false well")
    try await strap.log.next("unsubscribed 2A37")
    watch.manager.cancelPeripheralConnection(peripheral)
    try await watch.log.next("disconnected well")
    try await strap.log.next("unsubscribed FF01")
    #expect(strap.alarm.subscribedCentrals?.isEmpty == true)
  }

  @Test func fillsAndDrainsTheQueueOfUpdates() async throws {
    try await watch.getReady()
    try watch.peripheral.setNotifyValue(true, for: watch.characteristic("2A37"))
    try await watch.log.next("notifying")
    var next = 0
    while next < 2000 {
      let value = Data([UInt8(next & 0xFF), UInt8(next >> 8)])
      if strap.manager.updateValue(value, for: strap.rate, onSubscribedCentrals: nil) {
        next += 1
      } else {
        try await strap.log.next("ready")
      }
    }
    for number in 0..<2000 {
      #expect(
        try await watch.log.next("value")
          == "value 2A37 [\(number & 0xFF), \(number >> 8)] of 2 well")
    }
  }

  @Test func sendsWithoutResponseAndWithoutLoss() async throws {
    try await watch.getReady()
    let inbox = try watch.characteristic("FF03")
    let whole = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
    let size = try watch.peripheral.maximumWriteValueLength(for: .withoutResponse)
    #expect(size == 512)
    var sent = 0
    while sent < whole.count {
      guard try watch.peripheral.canSendWriteWithoutResponse else {
        try await watch.log.next("room")
        continue
      }
      let end = min(whole.count, sent + size)
      try watch.peripheral.writeValue(
        whole.subdata(in: sent..<end), for: inbox, type: .withoutResponse)
      sent = end
    }
    // The peer handles a request after all commands before it.
    try watch.peripheral.writeValue(
      Data([1]), for: watch.characteristic("2A39"), type: .withResponse)
    try await watch.log.next("written 2A39 well")
    // Not #expect(a == b): describing the difference would take minutes.
    let isWhole = strap.received.value == whole
    #expect(isWhole, "\(strap.received.value.count) octets were received")
  }

  @Test func failsEveryCallWhenThePeerVanishes() async throws {
    try await watch.getReady()
    let peripheral = try watch.peripheral
    try peripheral.readValue(for: watch.characteristic("FF05"))
    try peripheral.writeValue(Data([1]), for: watch.characteristic("2A39"), type: .withResponse)
    peripheral.discoverServices(nil)
    try await strap.log.next("read FF05")
    try await stationOf(strap.manager).set(.poweredOff)
    #expect(try await watch.log.next("value").hasSuffix("CBError 7"))
    #expect(try await watch.log.next("written") == "written 2A39 CBError 7")
    #expect(try await watch.log.next("services").hasSuffix("CBError 7"))
    #expect(try await watch.log.next("disconnected") == "disconnected CBError 7")
  }

  @Test func reportsChangedServices() async throws {
    try await watch.getReady()
    let peripheral = try watch.peripheral
    // The module subscribes to Service Changed and reads the name at the same time. The name may be
    // reported during discovery.
    if !watch.log.all.contains(where: { $0.hasPrefix("name radio-") }) {
      try await watch.log.next("name radio-")
    }
    strap.manager.remove(strap.service)
    #expect(try await watch.log.next("modified") == "modified [\"180D\"]")
    #expect(peripheral.services?.isEmpty == true)
  }

  @Test func answersOnceAndForReleasedRequests() async throws {
    try await watch.getReady()
    try watch.peripheral.readValue(for: watch.characteristic("FF05"))
    try await strap.log.next("read FF05")
    strap.kept.withLock { $0 = [] }
    #expect(try await watch.log.next("value").hasSuffix("CBATTError 14"))
  }

  @Test func waitsForResults() async throws {
    try await watch.getReady()
    let services = try await watch.peripheral.discoverAll()
    #expect(services.map(\.uuid.uuidString) == ["180D"])
    let battery = services.first?.includedServices?.first?.characteristics?.first
    #expect(battery?.uuid.uuidString == "2A19")
    let long = try watch.characteristic("FF02")
    #expect(long.descriptors?.map(\.uuid.uuidString) == ["2901"])
    try await watch.peripheral.write(Data([4, 5]), to: long)
    #expect(try await watch.peripheral.read(long) == Data([4, 5]))
    await #expect(throws: CBATTError(.readNotPermitted)) {
      _ = try await watch.peripheral.read(watch.characteristic("2A37"))
    }
    #expect(try watch.peripheral.address.count == 17)
  }

  private func stationOf(_ manager: CBPeripheralManager) async throws -> RadioContext {
    try #require(await manager.engine.radio)
  }
}
