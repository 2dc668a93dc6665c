/// Base64 (RFC 4648, section 4).
package enum Base64 {
  /// Decodes the standard alphabet. Returns nil unless the text is padded to groups of four and the
  /// unused bits are zero.
  package static func decode(_ text: some Sequence<UInt8>) -> [UInt8]? {
    var bytes: [UInt8] = []
    var bits: UInt32 = 0
    var count = 0
    var padding = 0
    for byte in text {
      let digit: UInt32
      switch byte {
      case 0x41...0x5A: digit = UInt32(byte - 0x41)
      case 0x61...0x7A: digit = UInt32(byte - 0x61 + 26)
      case 0x30...0x39: digit = UInt32(byte - 0x30 + 52)
      case 0x2B: digit = 62
      case 0x2F: digit = 63
      case 0x3D:
        padding += 1
        continue
      default: return nil
      }
      guard padding == 0 else { return nil }
      bits = bits << 6 | digit
      count += 1
      if count % 4 == 0 {
        bytes += [UInt8(truncatingIfNeeded: bits >> 16), UInt8(truncatingIfNeeded: bits >> 8)]
        bytes.append(UInt8(truncatingIfNeeded: bits))
        bits = 0
      }
    }
    switch (count % 4, padding) {
    case (0, 0): break
    case (2, 2) where bits & 0xF == 0: bytes.append(UInt8(truncatingIfNeeded: bits >> 4))
    case (3, 1) where bits & 0x3 == 0:
      bytes += [UInt8(truncatingIfNeeded: bits >> 10), UInt8(truncatingIfNeeded: bits >> 2)]
    default: return nil
    }
    return bytes
  }
}
