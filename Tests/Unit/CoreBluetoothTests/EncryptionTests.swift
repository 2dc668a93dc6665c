import Foundation
import TestSupport
import Testing

@testable import AttoCoreBluetooth

/// Values that require encryption, where one end declines to pair.
@Suite(.oneByOne) struct EncryptionTests {
  let radio: CBRadio
  let name: String
  let watch: Watch
  /// An app's user declines while this is the watch's radio, and another's.
  let central: CBRadio

  init() {
    radio = Sandbox.radio()
    name = "Guarded \(Sandbox.number(of: radio))"
    central = Sandbox.radio()
    watch = Watch(central, for: name)
  }

  /// Until the radio has its new agent.
  private func hop() async {
    for _ in 0..<20 { await Task { @RadioLoop in await Task.yield() }.value }
  }

  /// The code of the error in a log entry.
  private func refusal(_ entry: String) -> Int? {
    entry.range(of: "CBATTError ").flatMap { Int(entry[$0.upperBound...]) }
  }

  @Test func theCentralDeclines() async throws {
    let strap = Strap(radio, name: name)
    central.setPairable(false)
    try await watch.getReady()
    let peripheral = try watch.peripheral
    try peripheral.readValue(for: watch.characteristic("FF04"))
    let code = try #require(refusal(try await watch.log.next("value FF04")))
    #expect([5, 15].contains(code))
    // The link stays, and with it all that needs no encryption.
    try peripheral.readValue(for: watch.characteristic("FF02"))
    #expect(try await watch.log.next("value FF02").hasSuffix("of 500 well"))
    #expect(peripheral.state == .connected)
    #expect(!strap.log.all.contains("read FF04 0"))
    central.setPairable(true)
    try peripheral.readValue(for: watch.characteristic("FF04"))
    #expect(try await watch.log.next("value FF04").hasSuffix("of 500 well"))
    // An encrypted link stays encrypted.
    central.setPairable(false)
    try peripheral.readValue(for: watch.characteristic("FF04"))
    #expect(try await watch.log.next("value FF04").hasSuffix("of 500 well"))
  }

  /// Failed pairing ends the link, as on the kernel's radio. Another central that is paired keeps its
  /// own.
  @Test func thePeripheralDeclines() async throws {
    let strap = Strap(radio, name: name)
    let paired = Watch(Sandbox.radio(), for: name)
    try await paired.getReady()
    try paired.peripheral.readValue(for: paired.characteristic("FF04"))
    #expect(try await paired.log.next("value FF04").hasSuffix("of 500 well"))

    try await watch.getReady()
    let reads = strap.log.all.filter { $0.hasPrefix("read FF04") }.count
    radio.setPairable(false)
    await hop()
    try watch.peripheral.readValue(for: watch.characteristic("FF04"))
    try watch.peripheral.readValue(for: watch.characteristic("FF02"))
    let code = try #require(refusal(try await watch.log.next("value FF04")))
    #expect([5, 15].contains(code))
    #expect(try await watch.log.next("value FF02").hasSuffix("CBError 7"))
    #expect(try await watch.log.next("disconnected") == "disconnected CBError 7")
    #expect(strap.log.all.filter { $0.hasPrefix("read FF04") }.count == reads)
    try paired.peripheral.readValue(for: paired.characteristic("FF04"))
    #expect(try await paired.log.next("value FF04").hasSuffix("of 500 well"))

    radio.setPairable(true)
    await hop()
    try watch.manager.connect(watch.peripheral)
    try await watch.log.next("connected")
    #expect(try await watch.peripheral.discoverAll().count == 1)
    try watch.peripheral.readValue(for: watch.characteristic("FF04"))
    #expect(try await watch.log.next("value FF04").hasSuffix("of 500 well"))
  }

  /// Each kind of operation gets the peer's error, and an awaited one throws it.
  @Test func everyOperation() async throws {
    let strap = Strap(radio, name: name)
    try await strap.log.next("advertising begun")
    let guarded = CBMutableCharacteristic(
      type: CBUUID(string: "FF10"), properties: [.read, .write, .notifyEncryptionRequired],
      value: nil,
      permissions: [.readEncryptionRequired, .writeEncryptionRequired])
    let service = CBMutableService(type: CBUUID(string: "FF0F"), primary: true)
    service.characteristics = [guarded]
    strap.manager.add(service)
    try await strap.log.next("added FF0F well")
    central.setPairable(false)
    try await watch.getReady()
    _ = try await watch.peripheral.discoverAll()
    let found = try watch.characteristic("FF10")
    try watch.peripheral.writeValue(Data([1]), for: found, type: .withResponse)
    #expect(try await watch.log.next("written FF10").contains("CBATTError"))
    try watch.peripheral.setNotifyValue(true, for: found)
    #expect(try await watch.log.next("notifying FF10").contains("false CBATTError"))
    await #expect(throws: CBATTError.self) { _ = try await watch.peripheral.read(found) }
    #expect(!strap.log.all.contains { $0.contains("FF10") })
    central.setPairable(true)
    try watch.peripheral.setNotifyValue(true, for: found)
    try await watch.log.next("notifying FF10 true well")
    strap.manager.updateValue(Data([7]), for: guarded, onSubscribedCentrals: nil)
    #expect(try await watch.log.next("value FF10") == "value FF10 [7] of 1 well")
  }
}
