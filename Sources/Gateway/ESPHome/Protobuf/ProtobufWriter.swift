/// Writes the fields of a protobuf message. A field with the default value (0, false, empty) is left
/// out, as proto3 has it.
package struct ProtobufWriter {
  /// What was written.
  package private(set) var octets: [UInt8] = []

  package init() {}

  package mutating func integer(_ field: Int, _ value: UInt64) {
    guard value != 0 else { return }
    tag(field, .varint)
    varint(value)
  }

  /// An int32: negative numbers take ten octets.
  package mutating func signed(_ field: Int, _ value: Int32) {
    integer(field, UInt64(bitPattern: Int64(value)))
  }

  /// A sint32: zigzag.
  package mutating func zigzag(_ field: Int, _ value: Int32) {
    integer(field, UInt64(UInt32(bitPattern: (value << 1) ^ (value >> 31))))
  }

  package mutating func flag(_ field: Int, _ value: Bool) { integer(field, value ? 1 : 0) }

  package mutating func fixed(_ field: Int, _ value: UInt32) {
    guard value != 0 else { return }
    tag(field, .fixed32)
    for shift in stride(from: 0, to: 32, by: 8) {
      octets.append(UInt8(truncatingIfNeeded: value >> shift))
    }
  }

  package mutating func text(_ field: Int, _ value: String) {
    guard !value.isEmpty else { return }
    delimited(field, value.utf8)
  }

  package mutating func data(_ field: Int, _ value: [UInt8]) {
    guard !value.isEmpty else { return }
    delimited(field, value)
  }

  /// A repeated integer, packed.
  package mutating func integers(_ field: Int, _ values: [UInt64]) {
    guard !values.isEmpty else { return }
    var packed = ProtobufWriter()
    for value in values { packed.varint(value) }
    delimited(field, packed.octets)
  }

  /// A message within this one, also if it is empty.
  package mutating func message(_ field: Int, _ body: (inout ProtobufWriter) -> Void) {
    var inner = ProtobufWriter()
    body(&inner)
    delimited(field, inner.octets)
  }

  private mutating func delimited(_ field: Int, _ value: some Collection<UInt8>) {
    tag(field, .delimited)
    varint(UInt64(value.count))
    octets.append(contentsOf: value)
  }

  private mutating func tag(_ field: Int, _ type: WireType) {
    varint(UInt64(field) << 3 | UInt64(type.rawValue))
  }

  private mutating func varint(_ value: UInt64) { Self.append(value, to: &octets) }

  /// Appends a number in groups of seven bits, the lowest first.
  package static func append(_ value: UInt64, to octets: inout [UInt8]) {
    var rest = value
    while rest > 0x7F {
      octets.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    octets.append(UInt8(rest))
  }
}
