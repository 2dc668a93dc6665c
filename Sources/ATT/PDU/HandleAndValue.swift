/// A handle with a value behind it: the form that four PDUs share.
public struct HandleAndValue: ~Escapable {
  /// The attribute.
  public let handle: AttributeHandle
  /// What is to become its value, or has become it.
  public let value: RawSpan

  /// Octets before the value: opcode and handle.
  public static let headerLength = 3

  /// One of the four PDUs, taken for what it is: nil if the octets are less than a handle needs.
  @_lifetime(copy octets)
  @inlinable public init?(_ octets: RawSpan) {
    guard octets.byteCount >= Self.headerLength else { return nil }
    handle = octets.handle(at: 1)
    value = octets.extracting(droppingFirst: Self.headerLength)
  }

  @inlinable static func encode(
    _ opcode: Opcode, _ handle: AttributeHandle, _ value: RawSpan, into out: inout OutputRawSpan
  ) {
    out.append(opcode)
    out.append(handle)
    out.append(value)
  }

  /// With as much of the value as there is room for.
  @inlinable static func encode(
    _ opcode: Opcode, _ handle: AttributeHandle, fitting value: RawSpan,
    into out: inout OutputRawSpan
  ) {
    out.append(opcode)
    out.append(handle)
    out.append(fitting: value)
  }
}
