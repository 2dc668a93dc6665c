/// How a field's value is encoded. Groups (3 and 4) are obsolete and refused.
enum WireType: UInt8 {
  case varint = 0
  case fixed64 = 1
  case delimited = 2
  case fixed32 = 5
}

/// Why octets are no protobuf message, or not the one that was expected.
package enum ProtobufError: Error, Hashable, Sendable {
  /// The message ends within a field.
  case truncated
  /// A varint of more than ten octets, or of more than 64 bits.
  case longVarint
  /// A field number of 0, or one beyond 2^29 - 1.
  case fieldNumber
  /// A wire type that does not exist, or an obsolete group.
  case wireType(UInt8)
  /// A known field has another wire type than its own.
  case mismatch(field: Int)
  /// A known field has a value that its type does not allow.
  case value(field: Int)
  /// A text is not UTF-8.
  case text(field: Int)
}

/// Reads the fields of one protobuf message, in the order in which they were written. The octets come
/// from outside: whatever they are, ``next()`` ends with a field, nil or an error.
package struct ProtobufReader {
  /// A field's number and its value.
  package struct Field: Equatable {
    package let number: Int
    package let value: Value

    /// An integer of at most 64 bits. A 32-bit field takes the low bits, as protobuf has it.
    package func integer() throws(ProtobufError) -> UInt64 {
      guard case .varint(let value) = value else { throw .mismatch(field: number) }
      return value
    }

    package func flag() throws(ProtobufError) -> Bool { try integer() != 0 }

    /// An integer that fits into `T`.
    package func integer<T: FixedWidthInteger>(as type: T.Type) throws(ProtobufError) -> T {
      guard let value = T(exactly: try integer()) else { throw .value(field: number) }
      return value
    }

    package func data() throws(ProtobufError) -> [UInt8] {
      guard case .delimited(let octets) = value else { throw .mismatch(field: number) }
      return Array(octets)
    }

    package func text() throws(ProtobufError) -> String {
      guard case .delimited(let octets) = value else { throw .mismatch(field: number) }
      guard let text = String(validating: octets, as: UTF8.self) else { throw .text(field: number) }
      return text
    }
  }

  package enum Value: Equatable {
    case varint(UInt64)
    case fixed64(UInt64)
    case fixed32(UInt32)
    case delimited(ArraySlice<UInt8>)
  }

  private var rest: ArraySlice<UInt8>

  package init(_ octets: ArraySlice<UInt8>) { rest = octets }

  /// The next field, nil at the end of the message.
  package mutating func next() throws(ProtobufError) -> Field? {
    guard !rest.isEmpty else { return nil }
    let tag = try varint()
    let number = tag >> 3
    guard number > 0, number < 1 << 29 else { throw .fieldNumber }
    let type = UInt8(tag & 7)
    let value: Value
    switch WireType(rawValue: type) {
    case .varint: value = .varint(try varint())
    case .fixed64: value = .fixed64(Self.number(try dequeue(8)))
    case .fixed32: value = .fixed32(UInt32(Self.number(try dequeue(4))))
    case .delimited: value = .delimited(try dequeue(try varint()))
    case nil: throw .wireType(type)
    }
    return Field(number: Int(number), value: value)
  }

  private mutating func varint() throws(ProtobufError) -> UInt64 {
    guard let value = try Self.varint(&rest) else { throw .truncated }
    return value
  }

  /// Takes a varint from the front. Nil, and nothing taken, if `octets` end within it.
  static func varint(_ octets: inout ArraySlice<UInt8>) throws(ProtobufError) -> UInt64? {
    var value: UInt64 = 0
    for (place, octet) in octets.prefix(10).enumerated() {
      if place == 9, octet > 1 { throw .longVarint }
      value |= UInt64(octet & 0x7F) << (7 * UInt64(place))
      if octet < 0x80 {
        octets.removeFirst(place + 1)
        return value
      }
    }
    return nil
  }

  private mutating func dequeue(_ count: UInt64) throws(ProtobufError) -> ArraySlice<UInt8> {
    guard count <= UInt64(rest.count) else { throw .truncated }
    defer { rest.removeFirst(Int(count)) }
    return rest.prefix(Int(count))
  }

  private static func number(_ octets: ArraySlice<UInt8>) -> UInt64 {
    octets.reversed().reduce(0) { $0 << 8 | UInt64($1) }
  }
}
