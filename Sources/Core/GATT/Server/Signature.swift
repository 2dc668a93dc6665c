import AttoATT

/// The signature of a signed write: sign counter and MAC. Vol 3, Part H, 2.4.5.
public enum Signature {
  /// Signs a PDU.
  ///
  /// - Parameters:
  ///   - pdu: opcode, handle and value.
  ///   - counter: the sign counter, which must increase with each signature.
  ///   - key: the CSRK, 16 octets, most significant first.
  /// - Returns: 12 octets: the counter and the upper 64 bits of the code, each least
  ///   significant octet first.
  public static func compute(over pdu: RawSpan, counter: UInt32, key: [UInt8]) -> [UInt8] {
    let counterOctets = (0..<4).map { UInt8(truncatingIfNeeded: counter >> ($0 * 8)) }
    // The code is computed over the reversed PDU, because the last octet is the most significant.
    var mac = AESCMAC(key: key)
    for octet in counterOctets.reversed() { mac.update(octet) }
    for offset in stride(from: pdu.byteCount - 1, through: 0, by: -1) {
      mac.update(pdu.octet(at: offset))
    }
    return counterOctets + mac.finish().prefix(8).reversed()
  }
}
