/// A pattern of an advertisement monitor (struct mgmt_adv_pattern): an advertisement matches if the data of
/// one of its structures of the type begins with the octets.
struct MonitorPattern: Hashable {
  /// Core Specification Supplement, Part A.
  var type: UInt8
  var octets: [UInt8]

  /// The patterns of passive scans, of which one must match if the controller compares. Devices that can
  /// be connected have flags. Sensors that have none are covered by what they send: the 16-bit UUID of
  /// service data, or the company.
  static let all: [MonitorPattern] =
    [0x02, 0x04, 0x05, 0x06, 0x1A].map { MonitorPattern(type: 0x01, octets: [$0]) }
    // BTHome v2 and v1, Xiaomi, Qingping, Eddystone.
    + [0xFCD2, 0x181C, 0x181E, 0xFE95, 0xFDCD, 0xFEAA].map {
      MonitorPattern(type: 0x16, octets: UInt16($0).octets(2))
    }
    // Apple (iBeacon), Ruuvi, Procter & Gamble (Oral-B), Govee.
    + [0x004C, 0x0499, 0x00DC, 0xEC88].map {
      MonitorPattern(type: 0xFF, octets: UInt16($0).octets(2))
    }

  /// The parameters of MGMT_OP_ADD_ADV_PATTERNS_MONITOR.
  static var parameters: [UInt8] { [UInt8(all.count)] + all.flatMap(\.encoded) }

  private var encoded: [UInt8] {
    [type, 0, UInt8(octets.count)] + octets + [UInt8](repeating: 0, count: 31 - octets.count)
  }
}
