/// Handle Value Notification: a value that the server sends unasked. Vol 3, Part F, 3.4.7.1.
public struct HandleValueNotification: ~Escapable {
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

  /// Appends the PDU with as much of the value as there is room for.
  static public func encode(
    _ handle: AttributeHandle, _ value: RawSpan, into out: inout OutputRawSpan
  ) {
    out.append(Opcode.handleValueNotification)
    out.append(handle)
    out.append(fitting: value)
  }
}

/// Handle Value Indication: a value that the server sends unasked and the client confirms.
/// Vol 3, Part F, 3.4.7.2. The confirmation (3.4.7.3) is one octet and has no type of its own.
public struct HandleValueIndication: ~Escapable {
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

  /// Appends the PDU with as much of the value as there is room for.
  static public func encode(
    _ handle: AttributeHandle, _ value: RawSpan, into out: inout OutputRawSpan
  ) {
    out.append(Opcode.handleValueIndication)
    out.append(handle)
    out.append(fitting: value)
  }
}
