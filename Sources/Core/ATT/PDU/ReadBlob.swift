/// Read Blob Request: asks for a value from an offset on. Vol 3, Part F, 3.4.4.5.
public struct ReadBlobRequest: Equatable, Sendable {
  /// The attribute.
  public let handle: AttributeHandle
  /// The number of octets of the value to skip.
  public let offset: UInt16

  /// Creates the PDU from its fields.
  public init(_ handle: AttributeHandle, offset: UInt16) {
    self.handle = handle
    self.offset = offset
  }

  init?(_ octets: RawSpan) {
    guard octets.byteCount == 5 else { return nil }
    handle = octets.handle(at: 1)
    offset = octets.uint16(at: 3)
  }

  /// Appends the 5 octets of the PDU; traps without room.
  public func encode(into out: inout OutputRawSpan) {
    out.append(Opcode.readBlobRequest)
    out.append(handle)
    out.append(offset)
  }
}

/// Read Blob Response: ATT_MTU - 1 octets of the value, fewer at its end. Vol 3, Part F,
/// 3.4.4.6.
public struct ReadBlobResponse: ~Escapable {
  /// The value from the offset on, up to ATT_MTU - 1 octets.
  public let part: RawSpan

  @_lifetime(copy octets)
  init(_ octets: RawSpan) { part = octets.from(1) }

  /// Appends the PDU with as much of the part as fits.
  static public func encode(_ part: RawSpan, into out: inout OutputRawSpan) {
    out.append(Opcode.readBlobResponse)
    out.append(fitting: part)
  }
}
