/// Prepare Write Request: asks to queue a part of a value. Vol 3, Part F, 3.4.6.1.
public struct PrepareWriteRequest: ~Escapable {
  /// The attribute.
  public let handle: AttributeHandle
  /// The offset of the part in the value.
  public let offset: UInt16
  /// The octets to prepare.
  public let part: RawSpan

  /// Octets before the part.
  public static let headerLength = 5

  @_lifetime(copy octets)
  init?(_ octets: RawSpan) {
    guard octets.byteCount >= Self.headerLength else { return nil }
    handle = octets.handle(at: 1)
    offset = octets.uint16(at: 3)
    part = octets.from(5)
  }

  /// Appends the PDU; traps if the part is longer than ATT_MTU - 5.
  static public func encode(
    _ handle: AttributeHandle, offset: UInt16, _ part: RawSpan, into out: inout OutputRawSpan
  ) {
    out.append(Opcode.prepareWriteRequest)
    out.append(handle)
    out.append(offset)
    out.append(part)
  }
}

/// Prepare Write Response: the exact echo of the request. Vol 3, Part F, 3.4.6.2.
public struct PrepareWriteResponse: ~Escapable {
  /// The attribute, echoed by the server.
  public let handle: AttributeHandle
  /// The offset of the part, echoed by the server.
  public let offset: UInt16
  /// The octets, echoed by the server.
  public let part: RawSpan

  @_lifetime(copy octets)
  init?(_ octets: RawSpan) {
    guard octets.byteCount >= 5 else { return nil }
    handle = octets.handle(at: 1)
    offset = octets.uint16(at: 3)
    part = octets.from(5)
  }

  /// Appends the echo of a request; traps without room.
  static public func encode(_ request: borrowing PrepareWriteRequest, into out: inout OutputRawSpan)
  {
    out.append(Opcode.prepareWriteResponse)
    out.append(request.handle)
    out.append(request.offset)
    out.append(request.part)
  }
}
