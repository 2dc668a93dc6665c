import AttoLinks
import AttoRadio

/// Reads the parameters of a frame from first to last. Missing octets read as zeros and set
/// ``isShort``, which is checked once, after the last field.
struct ManagementReader {
  private(set) var rest: ArraySlice<UInt8>
  private(set) var isShort = false
  /// Whether there was a BR/EDR address, which is read as a public one.
  private(set) var isBREDR = false

  init(_ parameters: [UInt8]) { rest = parameters[...] }

  mutating func octets(_ count: Int) -> [UInt8] {
    guard count <= rest.count else {
      isShort = true
      rest = []
      return [UInt8](repeating: 0, count: count)
    }
    defer { rest = rest.dropFirst(count) }
    return Array(rest.prefix(count))
  }

  /// A number, least significant octet first.
  mutating func integer<Number: FixedWidthInteger>() -> Number {
    Number(octets: octets(Number.bitWidth / 8))
  }

  mutating func flag() -> Bool {
    let octet: UInt8 = integer()
    return octet != 0
  }

  /// A count of 16 bits and so many octets.
  mutating func countedOctets() -> [UInt8] {
    let count: UInt16 = integer()
    return octets(Int(count))
  }

  /// An address and its kind (struct mgmt_addr_info).
  mutating func address() -> BluetoothAddress {
    let value = UInt64(octets: octets(6))
    let kind = BluetoothAddress.Kind(rawValue: integer())
    if kind == nil { isBREDR = true }
    return BluetoothAddress(value, kind: kind ?? .public)
  }

  /// A name in a field of fixed length, padded with zeros. Malformed UTF-8 is repaired.
  mutating func name(_ length: Int) -> String {
    String(decoding: octets(length).prefix { $0 != 0 }, as: UTF8.self)
  }
}

extension BluetoothAddress {
  /// struct mgmt_addr_info: the address and its kind.
  var managementOctets: [UInt8] { littleEndian + [kind.rawValue] }
}
