import Links

/// Reads a frame's parameters from front to back. What is missing reads as zeros and is remembered
/// in `isShort`, so that a frame is read to its end and judged once.
struct ManagementReader {
  private(set) var rest: ArraySlice<UInt8>
  /// Whether something was read that was not there.
  private(set) var isShort = false

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

  /// An address and its kind (struct mgmt_addr_info); nil for one that is not of LE.
  mutating func address() -> BluetoothAddress? {
    let octets = octets(6)
    let kind: UInt8 = integer()
    return BluetoothAddress.Kind(rawValue: kind).flatMap {
      BluetoothAddress(littleEndian: octets, kind: $0)
    }
  }

  /// A name in a field of fixed length that zeros fill. What is not UTF-8 is repaired.
  mutating func name(_ length: Int) -> String {
    String(decoding: octets(length).prefix { $0 != 0 }, as: UTF8.self)
  }
}

extension BluetoothAddress {
  /// struct mgmt_addr_info: the address and its kind.
  var managementOctets: [UInt8] { littleEndian + [kind.rawValue] }
}
