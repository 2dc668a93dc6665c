/// Signed Write Command: a Write Command with an authentication signature. Vol 3, Part F,
/// 3.4.5.4.
public struct SignedWriteCommand: ~Escapable {
  public let handle: AttributeHandle
  public let value: RawSpan
  /// 12 octets: the sign counter (4) and the MAC (8), least significant octet first.
  public let signature: RawSpan
  /// What was signed: opcode, handle, value.
  public let signed: RawSpan

  public static let signatureLength = 12

  @_lifetime(copy octets)
  init?(_ octets: RawSpan) {
    guard octets.byteCount >= 3 + Self.signatureLength else { return nil }
    let end = octets.byteCount - Self.signatureLength
    handle = octets.handle(at: 1)
    value = octets.extracting(3..<end)
    signature = octets.from(end)
    signed = octets.extracting(first: end)
  }

  /// Appends the PDU; traps if the value is longer than ATT_MTU - 15 or the signature is not
  /// of 12 octets.
  static public func encode(
    _ handle: AttributeHandle, _ value: RawSpan, signature: RawSpan, into out: inout OutputRawSpan
  ) {
    precondition(signature.byteCount == signatureLength)
    out.append(Opcode.signedWriteCommand)
    out.append(handle)
    out.append(value)
    out.append(signature)
  }
}
