import Atto
import AttoRadio
import AttoTesting
import AttoText
import TestSupport
import Testing

@testable import AttoGateway

@Suite("Devices that are heard and not configured", .timeLimit(.minutes(5)), .oneByOne)
struct HeardDeviceTests {
  static func heard(
    _ address: UInt64, _ kind: BluetoothAddress.Kind, _ data: [UInt8],
    on adapter: AdapterName = .hci(0), isConnectable: Bool = true, rssi: Int8 = -60
  ) -> Heard {
    let discovery = Discovery(
      address: BluetoothAddress(address, kind: kind), rssi: rssi, isConnectable: isConnectable,
      advertisement: data, scanResponse: [])
    return Heard(discovery: discovery, adapter: adapter, time: 0)
  }

  static func named(_ name: [UInt8], _ more: [UInt8] = []) -> [UInt8] {
    more + [UInt8(truncatingIfNeeded: name.count + 1), 0x09] + name
  }

  /// Reads a configuration with the proposed element.
  static func read(_ device: HeardDevice) throws -> Configuration {
    let proposal = try #require(device.proposal)
    return try ConfigurationTests.read(
      #"{"name": "hall", "mqtt": {"url": "mqtt://[::1]"}, "adapters": ["hci0"],"#
        + " \"\(proposal.key)\": [\(proposal.element)]}")
  }

  static let hostile: [[UInt8]] = [
    Array("</script><img src=x onerror=alert(1)>".utf8), Array("a\"b\\c'd&e".utf8),
    Array("\u{202E}gnp.exe\u{200B}\u{7}\u{1B}[31m".utf8), [0xFF, 0xC3, 0x28, 0x00],
    [UInt8](repeating: UInt8(ascii: "W"), count: 248),
    Array(String(repeating: "é", count: 124).utf8), [], Array("\n</pre>".utf8),
  ]

  @Test(arguments: hostile)
  func aNameIsHarmless(name: [UInt8]) throws {
    let device = HeardDevice(
      Self.heard(0xC0_11_22_33_44_55, .random, Self.named(name, [3, 3, 0x0D, 0x18])))
    let configuration = try Self.read(device)
    #expect(configuration.devices.map(\.match.address) == [device.address])
    #expect(configuration.devices.map(\.subscribe.count) == [1])
    // The address changes: the name is used where people see it as it is.
    let changing = HeardDevice(Self.heard(0x40_11_22_33_44_55, .random, Self.named(name)))
    if changing.proposal != nil {
      let found = try Self.read(changing).devices.map(\.match.localName)
      #expect(found == [String(decoding: name, as: UTF8.self)])
    }
    let page = GatewayStatus.page("hall", heard: [device, changing])
    for part in ["<script", "</script", "<img", "\u{202E}", "\u{200B}", "\u{1B}", "\n</pre>"] {
      #expect(!page.contains(part), "\(part)")
    }
    #expect(page.unicodeScalars.allSatisfy { $0.isPrintable || $0 == "\n" })
  }

  @Test func namesThatHideSomethingIdentifyNothing() throws {
    for (index, name) in Self.hostile.enumerated() {
      let device = HeardDevice(Self.heard(0x40_11_22_33_44_55, .random, Self.named(name)))
      #expect((device.proposal != nil) == [0, 1, 4, 5].contains(index), "\(index)")
    }
  }

  @Test func sensorsAreAddedByTheirAddress() throws {
    let plain = HeardDevice(
      Self.heard(
        0xA4_C1_38_11_22_33, .public, [0x06, 0x16, 0xD2, 0xFC, 0x40, 0x01, 0x5D],
        isConnectable: false))
    #expect(plain.format?.hasPrefix("BTHome") == true)
    #expect(try Self.read(plain).sensors.map(\.address.value) == [0xA4_C1_38_11_22_33])
    #expect(!plain.needsKey)
    let encrypted = HeardDevice(
      Self.heard(
        0xA4_C1_38_11_22_34, .public,
        [0x0F, 0x16, 0xD2, 0xFC, 0x41, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11], isConnectable: false))
    #expect(encrypted.needsKey)
    #expect(try Self.read(encrypted).sensors.count == 1)
    #expect(GatewayStatus.page("hall", heard: [encrypted]).contains("<b>bindKey</b>"))
  }

  @Test func aDeviceThatCannotBeAddedSaysWhy() {
    let beacon = HeardDevice(
      Self.heard(0xC0_11_22_33_44_55, .random, [3, 0xFF, 0x34, 0x12], isConnectable: false))
    #expect(beacon.proposal == nil && beacon.vendor == "company 0x1234")
    #expect(GatewayStatus.page("hall", heard: [beacon]).contains("accepts no connections"))
  }

  @Test func configuredDevicesAreLeftOut() async throws {
    let air = TestAir()
    let gateway = try await TestGateway(air) { $0.devices = [StatusTests.device("strap")] }
    let hub = gateway.hub
    let others = [try await Strap(air, name: "strap"), try await Strap(air, name: "other")]
    while await hub.presentDevices.count < 2 { await Task.yield() }
    let found = await hub.unconfigured
    #expect(found.map(\.name) == ["other"])
    #expect(found.first?.proposal?.key == "devices")
    for other in others { other.leave() }
    await gateway.stop()
  }

  @Test func theListIsBoundedAndHasTheStrongest() async throws {
    let gateway = try await TestGateway(TestAir())
    await gateway.hub.hear(
      (0..<2000).map { Self.heard($0, .public, [], on: .air, rssi: Int8(-100 + Int($0) % 80)) })
    let found = await gateway.hub.unconfigured
    #expect(found.count == Hub.unconfiguredLimit)
    #expect(found.allSatisfy { ($0.rssi ?? 0) >= -25 })
    await gateway.stop()
  }
}

extension Hub {
  fileprivate func hear(_ heard: [Heard]) {
    for heard in heard { radios[.air]?.present[heard.discovery.address] = heard }
  }
}
