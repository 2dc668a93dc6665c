/// Bytes written as text: hexadecimal and base64 (RFC 4648).
enum EncodedBytes {
  /// Pairs of hexadecimal digits, in either case, with spaces allowed between the pairs.
  /// nil for anything else.
  static func hexadecimal(_ text: some Sequence<UInt8>) -> [UInt8]? {
    var bytes: [UInt8] = []
    var high: UInt8?
    for byte in text {
      if byte == 0x20, high == nil { continue }
      guard let digit = hexDigit(byte) else { return nil }
      if let first = high {
        bytes.append(first << 4 | digit)
        high = nil
      } else {
        high = digit
      }
    }
    return high == nil ? bytes : nil
  }

  /// The value of a hexadecimal digit.
  static func hexDigit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case 0x30...0x39: byte - 0x30
    case 0x41...0x46: byte - 0x37
    case 0x61...0x66: byte - 0x57
    default: nil
    }
  }

  /// The standard alphabet, padded to groups of four, unused bits zero. nil for anything else.
  static func base64(_ text: some Sequence<UInt8>) -> [UInt8]? {
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

  /// Lowercase hexadecimal digits, pairs parted by `separator`.
  static func hexadecimal(_ bytes: some Collection<UInt8>, separator: String = "") -> String {
    var text = ""
    for byte in bytes {
      if !text.isEmpty { text += separator }
      if byte < 0x10 { text += "0" }
      text += String(byte, radix: 16)
    }
    return text
  }
}
