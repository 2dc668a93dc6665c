/// Write Request: asks to write a value, with an answer. Vol 3, Part F, 3.4.5.1.
///
/// The answer, Write Response (3.4.5.2), is one octet and has no type of its own.
public struct WriteRequest: ~Escapable {
  public let handle: AttributeHandle
  public let value: RawSpan

  /// Octets before the value.
  public static let headerLength = 3

  @_lifetime(copy octets)
  init?(_ octets: RawSpan) {
    guard octets.byteCount >= Self.headerLength else { return nil }
    handle = octets.handle(at: 1)
    value = octets.from(3)
  }

  /// Appends the PDU; traps if the value is longer than ATT_MTU - 3.
  static public func encode(
    _ handle: AttributeHandle, _ value: RawSpan, into out: inout OutputRawSpan
  ) {
    out.append(Opcode.writeRequest)
    out.append(handle)
    out.append(value)
  }
}

/// Write Command: asks to write a value, without an answer. Vol 3, Part F, 3.4.5.3.
public struct WriteCommand: ~Escapable {
  public let handle: AttributeHandle
  public let value: RawSpan

  /// Octets before the value.
  public static let headerLength = 3

  @_lifetime(copy octets)
  init?(_ octets: RawSpan) {
    guard octets.byteCount >= Self.headerLength else { return nil }
    handle = octets.handle(at: 1)
    value = octets.from(3)
  }

  /// Appends the PDU; traps if the value is longer than ATT_MTU - 3.
  static public func encode(
    _ handle: AttributeHandle, _ value: RawSpan, into out: inout OutputRawSpan
  ) {
    out.append(Opcode.writeCommand)
    out.append(handle)
    out.append(value)
  }
}
