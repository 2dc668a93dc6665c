import ATT

/// The signature of a signed write: sign counter and MAC. Vol 3, Part H, 2.4.5.
public enum Signature {
  /// Signs a PDU.
  ///
  /// - Parameters:
  ///   - pdu: opcode, handle and value.
  ///   - counter: goes up with each signature and never back.
  ///   - key: the CSRK, 16 octets, most significant first.
  /// - Returns: 12 octets: the counter and the upper 64 bits of the code, each least
  ///   significant octet first.
  public static func compute(over pdu: RawSpan, counter: UInt32, key: [UInt8]) -> [UInt8] {
    let counterOctets = (0..<4).map { UInt8(truncatingIfNeeded: counter >> ($0 * 8)) }
    // The function works on the PDU with its most significant octet, the last, first.
    var mac = AESCMAC(key: key)
    for octet in counterOctets.reversed() { mac.update(octet) }
    for offset in stride(from: pdu.byteCount - 1, through: 0, by: -1) {
      mac.update(pdu.octet(at: offset))
    }
    return counterOctets + mac.finish().prefix(8).reversed()
  }
}
