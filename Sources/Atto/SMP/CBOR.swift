import AttoRadio

/// A value of CBOR as the Simple Management Protocol uses it: RFC 8949, without tags,
/// floating-point numbers and simple values but true, false and null.
package enum CBOR: Hashable, Sendable {
  case integer(Int64)
  case octets([UInt8])
  case text(String)
  case array([CBOR])
  /// Keys of other kinds than text are left out when decoding.
  case map([String: CBOR])
  case boolean(Bool)
  case null

  /// How deep arrays and maps may be in each other.
  private static let deepest = 8

  package var integer: Int64? { if case .integer(let value) = self { value } else { nil } }
  package var octets: [UInt8]? { if case .octets(let value) = self { value } else { nil } }
  package var text: String? { if case .text(let value) = self { value } else { nil } }
  package var array: [CBOR]? { if case .array(let value) = self { value } else { nil } }
  package var boolean: Bool? { if case .boolean(let value) = self { value } else { nil } }

  /// The value of a key of a map.
  package subscript(_ key: String) -> CBOR? {
    if case .map(let pairs) = self { pairs[key] } else { nil }
  }
}

// MARK: Encoding

extension CBOR {
  /// The shortest encoding, with the keys of maps sorted (RFC 8949, 4.2.1).
  package var encoded: [UInt8] {
    var octets: [UInt8] = []
    append(to: &octets)
    return octets
  }

  private func append(to octets: inout [UInt8]) {
    switch self {
    case .integer(let value):
      value >= 0
        ? Self.append(0, UInt64(value), to: &octets) : Self.append(1, UInt64(~value), to: &octets)
    case .octets(let value):
      Self.append(2, UInt64(value.count), to: &octets)
      octets += value
    case .text(let value):
      Self.append(3, UInt64(value.utf8.count), to: &octets)
      octets += value.utf8
    case .array(let values):
      Self.append(4, UInt64(values.count), to: &octets)
      for value in values { value.append(to: &octets) }
    case .map(let pairs):
      Self.append(5, UInt64(pairs.count), to: &octets)
      let order = pairs.keys.sorted { ($0.utf8.count, $0) < ($1.utf8.count, $1) }
      for key in order {
        CBOR.text(key).append(to: &octets)
        pairs[key]?.append(to: &octets)
      }
    case .boolean(let value): octets.append(value ? 0xF5 : 0xF4)
    case .null: octets.append(0xF6)
    }
  }

  /// The first octet of a value with its type, and its number.
  private static func append(_ type: UInt8, _ number: UInt64, to octets: inout [UInt8]) {
    let (short, width): (UInt8, Int) =
      switch number {
      case ..<24: (UInt8(number), 0)
      case ...0xFF: (24, 1)
      case ...0xFFFF: (25, 2)
      case ...0xFFFF_FFFF: (26, 4)
      default: (27, 8)
      }
    octets.append(type << 5 | short)
    octets += number.octets(width).reversed()
  }
}

// MARK: Decoding

extension CBOR {
  /// Decodes one value that takes all octets; nil if they are not one. Strings, arrays and maps may
  /// be of an indefinite length, as servers write them.
  package init?(_ octets: some Collection<UInt8>) {
    var rest = Array(octets)[...]
    guard let value = Self.decode(&rest, depth: 0), rest.isEmpty else { return nil }
    self = value
  }

  private static func decode(_ rest: inout ArraySlice<UInt8>, depth: Int) -> CBOR? {
    guard depth < deepest, let first = rest.popFirst() else { return nil }
    let (type, short) = (first >> 5, first & 0x1F)
    if type == 7 {
      switch short {
      case 20: return .boolean(false)
      case 21: return .boolean(true)
      case 22: return .null
      default: return nil
      }
    }
    let isOpen = short == 31
    guard let number = isOpen ? 0 : number(short, &rest), !isOpen || 2...5 ~= type else {
      return nil
    }
    switch type {
    case 0: return Int64(exactly: number).map { .integer($0) }
    case 1: return Int64(exactly: number).map { .integer(~$0) }
    case 2: return string(type, number, isOpen, &rest).map { .octets($0) }
    case 3:
      return string(type, number, isOpen, &rest)
        .flatMap { String(validating: $0, as: UTF8.self) }.map { .text($0) }
    case 4: return items(number, isOpen, &rest, depth).map { .array($0) }
    case 5:
      // An item takes at least one octet, so this does not overflow where the octets suffice.
      guard number <= rest.count, let items = items(number * 2, isOpen, &rest, depth),
        items.count % 2 == 0
      else { return nil }
      var pairs: [String: CBOR] = [:]
      for index in stride(from: 0, to: items.count, by: 2) {
        guard let key = items[index].text else { continue }
        pairs[key] = items[index + 1]
      }
      return .map(pairs)
    default: return nil
    }
  }

  private static func number(_ short: UInt8, _ rest: inout ArraySlice<UInt8>) -> UInt64? {
    guard short >= 24 else { return UInt64(short) }
    let width = 1 << Int(short - 24)
    guard short <= 27, rest.count >= width else { return nil }
    defer { rest = rest.dropFirst(width) }
    return UInt64(octets: rest.prefix(width).reversed())
  }

  private static func string(
    _ type: UInt8, _ count: UInt64, _ isOpen: Bool, _ rest: inout ArraySlice<UInt8>
  ) -> [UInt8]? {
    guard isOpen else {
      guard count <= rest.count else { return nil }
      defer { rest = rest.dropFirst(Int(count)) }
      return Array(rest.prefix(Int(count)))
    }
    var joined: [UInt8] = []
    while let first = rest.popFirst() {
      if first == 0xFF { return joined }
      guard first >> 5 == type, let count = number(first & 0x1F, &rest), count <= rest.count else {
        return nil
      }
      joined += rest.prefix(Int(count))
      rest = rest.dropFirst(Int(count))
    }
    return nil
  }

  private static func items(
    _ count: UInt64, _ isOpen: Bool, _ rest: inout ArraySlice<UInt8>, _ depth: Int
  ) -> [CBOR]? {
    guard count <= rest.count else { return nil }
    var items: [CBOR] = []
    while isOpen || items.count < Int(count) {
      if isOpen, rest.first == 0xFF {
        rest = rest.dropFirst()
        return items
      }
      guard let item = decode(&rest, depth: depth + 1) else { return nil }
      items.append(item)
    }
    return items
  }
}
