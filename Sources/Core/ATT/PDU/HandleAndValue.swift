/// A handle and a value: the form that four PDUs share.
public struct HandleAndValue: ~Escapable {
  /// The attribute.
  public let handle: AttributeHandle
  /// The value to write, or the value that is notified or indicated.
  public let value: RawSpan

  /// Octets before the value: opcode and handle.
  public static let headerLength = 3

  /// Decodes one of the four PDUs; nil if the handle is incomplete.
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

  /// Appends as much of the value as fits.
  @inlinable static func encode(
    _ opcode: Opcode, _ handle: AttributeHandle, fitting value: RawSpan,
    into out: inout OutputRawSpan
  ) {
    out.append(opcode)
    out.append(handle)
    out.append(fitting: value)
  }
}
