/// Signed Write Command: a Write Command with an authentication signature. Vol 3, Part F,
/// 3.4.5.4.
public struct SignedWriteCommand: ~Escapable {
  /// The whole PDU. The fields are computed from it, because storing them would double the size of
  /// ``PDU``.
  private let octets: RawSpan

  /// The length of a signature: a counter of 4 octets and a MAC of 8.
  public static let signatureLength = 12

  @_lifetime(copy octets)
  init?(_ octets: RawSpan) {
    guard octets.byteCount >= 3 + Self.signatureLength else { return nil }
    self.octets = octets
  }

  private var end: Int { octets.byteCount - Self.signatureLength }

  /// The attribute.
  public var handle: AttributeHandle { octets.handle(at: 1) }

  /// The octets to write, without the signature.
  public var value: RawSpan {
    @_lifetime(copy self) get { octets.extracting(3..<end) }
  }

  /// 12 octets: the sign counter (4) and the MAC (8), least significant octet first.
  public var signature: RawSpan {
    @_lifetime(copy self) get { octets.from(end) }
  }

  /// The signed octets: opcode, handle and value.
  public var signed: RawSpan {
    @_lifetime(copy self) get { octets.extracting(first: end) }
  }

  /// Appends the PDU; traps if the value is longer than ATT_MTU - 15 or the signature does not
  /// have 12 octets.
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
