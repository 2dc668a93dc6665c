import AttoATT
import AttoLinks
import AttoText
import TestSupport
import Testing

@testable import Atto
@testable import AttoGateway
@testable import AttoMQTT

/// Which devices are present, in virtual time.
@Suite(.sideBySide) struct PresenceTests {
  typealias Report = PresenceSession.Report

  /// The sample data of Vol 3, Part H, D.7.
  static let key = Hex.octets("ec0234a357c8ad05341010a60a397d9b".utf8) ?? []
  static let made = BluetoothAddress(0x7081_940D_FBAA, kind: .random)
  static let uuid = Hex.octets("e2c56db5dffb48d2b060d0f5a71096e0".utf8) ?? []

  static func heard(
    _ address: BluetoothAddress, rssi: Int8 = -60, at seconds: Int64, data: [UInt8] = []
  ) -> Heard {
    let discovery = Discovery(
      address: address, rssi: rssi, isConnectable: false,
      advertisement: data.isEmpty ? [] : [UInt8(data.count + 1), 0xFF] + data, scanResponse: [])
    return Heard(discovery: discovery, adapter: .air, time: seconds * 1_000_000_000)
  }

  static func beacon(_ uuid: [UInt8], _ major: UInt16, _ minor: UInt16) -> [UInt8] {
    [0x4C, 0, 2, 0x15] + uuid + [major, minor].flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] }
      + [0xC5]
  }

  @Test func keysResolveTheAddressesThatTheyHaveMade() {
    let other = [UInt8](repeating: 7, count: 16)
    var addresses = PrivateAddresses([other, Self.key])
    for _ in 0..<2 {
      #expect(addresses.key(of: Self.made) == 1)
      #expect(addresses.key(of: BluetoothAddress(Self.made.value ^ 1, kind: .random)) == nil)
      #expect(addresses.key(of: BluetoothAddress(Self.made.value)) == nil)
    }
    // Other kinds of random addresses are not encrypted.
    for top: UInt64 in [0, 2, 3] {
      let value = Self.made.value & 0x3FFF_FFFF_FFFF | top << 46
      #expect(addresses.key(of: BluetoothAddress(value, kind: .random)) == nil)
    }
    var none = PrivateAddresses([])
    #expect(none.key(of: Self.made) == nil)
    // More addresses than are remembered.
    for value in 0..<UInt64(3 * PrivateAddresses.cacheLimit) {
      _ = addresses.key(of: BluetoothAddress(0x4000_0000_0000 | value << 8, kind: .random))
    }
    #expect(addresses.key(of: Self.made) == 1)
  }

  @Test func homeAndAway() {
    var configuration = PresenceConfiguration(name: "tag", .address(BluetoothAddress(5)))
    configuration.awayTime = .seconds(60)
    var session = PresenceSession(configuration, now: 0)
    let second: Int64 = 1_000_000_000
    #expect(session.last == nil && session.nextTime == 60 * second)
    #expect(session.receive(-60, at: 10 * second) == Report(isHome: true, rssi: -60))
    #expect(session.receive(-60, at: 20 * second) == nil)
    #expect(session.advance(to: 79 * second) == nil)
    #expect(session.nextTime == 80 * second)
    #expect(session.advance(to: 80 * second) == Report(isHome: false, rssi: nil))
    #expect(session.nextTime == nil && session.advance(to: 999 * second) == nil)
    #expect(session.last == Report(isHome: false, rssi: nil))
    // It comes back, and the old strength does not count.
    #expect(session.receive(-80, at: 1000 * second) == Report(isHome: true, rssi: -80))
    // One that never comes is away after the same time.
    var absent = PresenceSession(configuration, now: 5 * second)
    #expect(absent.advance(to: 64 * second) == nil && absent.last == nil)
    #expect(absent.advance(to: 65 * second) == Report(isHome: false, rssi: nil))
    // Without a strength.
    #expect(absent.receive(nil, at: 70 * second) == Report(isHome: true, rssi: nil))
    #expect(absent.receive(nil, at: 120 * second) == nil)
    #expect(absent.receive(-50, at: 121 * second) == Report(isHome: true, rssi: -50))
  }

  @Test func theStrengthIsSmoothedAndRarelyPublished() {
    let configuration = PresenceConfiguration(name: "tag", .address(BluetoothAddress(5)))
    var session = PresenceSession(configuration, now: 0)
    var published: [Int] = []
    for second in 0..<600 {
      // A wall for five minutes, and noise.
      let strength = (second < 300 ? -50 : -80) + [0, 6, -6][second % 3]
      let report = session.receive(Int8(strength), at: Int64(second) * 1_000_000_000)
      if let rssi = report?.rssi { published.append(rssi) }
    }
    #expect(published.count <= 5, "\(published)")
    #expect(published.first == -50 && -83 ... -77 ~= published.last ?? 0, "\(published)")
    // An outlier among reports of the kernel, 10 s apart, counts by a third.
    var sparse = PresenceSession(configuration, now: 0)
    for step in 0...3 {
      _ = sparse.receive(step == 3 ? -90 : -60, at: Int64(step) * 10_000_000_000)
    }
    #expect(sparse.last?.rssi == -70)
  }

  @Test func devicesAreRecognised() {
    let tag = BluetoothAddress(0xC000_0000_0005)
    var table = PresenceTable(
      [
        .init(name: "tag", .address(tag)), .init(name: "phone", .key(Self.key)),
        .init(name: "bag", .beacon(uuid: Self.uuid, major: 1, minor: 2)),
        .init(name: "any bag", .beacon(uuid: Self.uuid, major: nil, minor: nil)),
      ], now: 0)
    func found(_ heard: Heard) -> [Int] { table.receive(heard).map(\.index) }
    #expect(found(Self.heard(BluetoothAddress(1), at: 0)) == [])
    #expect(found(Self.heard(BluetoothAddress(tag.value, kind: .random), at: 0)) == [0])
    #expect(found(Self.heard(Self.made, at: 0)) == [1])
    let stranger = BluetoothAddress(9)
    #expect(found(Self.heard(stranger, at: 0, data: Self.beacon(Self.uuid, 1, 3))) == [3])
    #expect(found(Self.heard(stranger, at: 1, data: Self.beacon(Self.uuid, 1, 2))) == [2])
    let whole = Self.beacon(Self.uuid, 1, 2)
    for count in 0..<whole.count {
      #expect(found(Self.heard(stranger, at: 99, data: Array(whole.prefix(count)))) == [])
    }
    #expect(table.nextTime == 180_000_000_000)
    #expect(table.advance(to: 200_000_000_000).map(\.index) == [0, 1, 2, 3])
    #expect(table.nextTime == nil)
  }

  @Test func homeAssistantIsTold() {
    let text = { (message: Outgoing) in String(decoding: message.payload, as: UTF8.self) }
    for (fleet, isFleet) in [(nil, false), ("home", true)] as [(String?, Bool)] {
      let assistant = HomeAssistant(
        prefix: "homeassistant", names: TopicNames(prefix: "atto", gateway: "hall", fleet: fleet),
        owner: fleet ?? "hall", gateway: "hall", isFleet: isFleet)
      let message = assistant.presence(.init(name: "tag", .address(BluetoothAddress(5))))
      #expect(message.topic == "homeassistant/device_tracker/atto_hall_tag/presence/config")
      #expect(message.retained)
      for part in [
        #""unique_id":"atto_hall_tag_presence""#, #""source_type":"bluetooth_le""#,
        #""state_topic":"atto/hall/tag/presence""#,
        #""json_attributes_topic":"atto/hall/tag/presence""#,
        "'rssi': value_json.rssi",
        #""connections":[["bluetooth","00:00:00:00:00:05"]]"#,
        #""availability":[{"topic":"atto/hall/status""#,
      ] {
        #expect(text(message).contains(part), "\(part)")
      }
      #expect(text(message).contains("via_device") == !isFleet)
      // The key is a secret.
      let phone = assistant.presence(.init(name: "phone", .key(Self.key)))
      #expect(!text(phone).contains("connections") && !text(phone).contains("ec0234"))
    }
  }
}
