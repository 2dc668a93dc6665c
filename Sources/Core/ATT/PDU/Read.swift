/// Read Request: asks for the value of an attribute. Vol 3, Part F, 3.4.4.3.
public struct ReadRequest: Equatable, Sendable {
  /// The attribute.
  public let handle: AttributeHandle

  /// Creates the PDU from its fields.
  public init(_ handle: AttributeHandle) { self.handle = handle }

  init?(_ octets: RawSpan) {
    guard octets.byteCount == 3 else { return nil }
    handle = octets.handle(at: 1)
  }

  /// Appends the 3 octets of the PDU; traps without room.
  public func encode(into out: inout OutputRawSpan) {
    out.append(Opcode.readRequest)
    out.append(handle)
  }
}

/// Read Response: the first ATT_MTU - 1 octets of the value. Vol 3, Part F, 3.4.4.4.
public struct ReadResponse: ~Escapable {
  /// The value, up to ATT_MTU - 1 octets.
  public let value: RawSpan

  @_lifetime(copy octets)
  init(_ octets: RawSpan) { value = octets.from(1) }

  /// Appends the PDU with as much of the value as fits.
  static public func encode(_ value: RawSpan, into out: inout OutputRawSpan) {
    out.append(Opcode.readResponse)
    out.append(fitting: value)
  }
}
