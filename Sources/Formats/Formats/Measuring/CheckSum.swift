/// The check sum at the end of a numbered value: the CRC-32 of the octets before it, little-endian.
///
/// It is the CRC of IEEE 802.3, as zlib and Ethernet have it. Eight tables read eight octets at a time,
/// so that the check sum does not limit a measurement.
public enum CheckSum {
  /// The length of a check sum in octets.
  public static let length = 4
  /// The shortest value with a number and a check sum.
  public static let shortestValue = 8

  /// Table `n` has the CRC of an octet with `n` octets of zero after it.
  private static let tables: [UInt32] = {
    var tables = (UInt32(0)..<256).map { octet in
      (0..<8).reduce(octet) { crc, _ in crc & 1 == 1 ? crc >> 1 ^ 0xEDB8_8320 : crc >> 1 }
    }
    for index in 256..<2048 {
      let before = tables[index - 256]
      tables.append(before >> 8 ^ tables[Int(before & 0xFF)])
    }
    return tables
  }()

  /// The CRC-32 of octets.
  public static func crc32(_ octets: RawSpan) -> UInt32 {
    var crc = UInt32.max
    let tables = tables.span
    var index = 0
    while index + 8 <= octets.byteCount {
      let word = octets.unsafeLoadUnaligned(fromByteOffset: index, as: UInt64.self).littleEndian
      let mixed = word ^ UInt64(crc)
      crc = 0
      for place in 0..<8 {
        crc ^= tables[(7 - place) << 8 | Int(mixed >> UInt64(8 * place) & 0xFF)]
      }
      index += 8
    }
    while index < octets.byteCount {
      let octet = octets.unsafeLoad(fromByteOffset: index, as: UInt8.self)
      crc = crc >> 8 ^ tables[Int((crc ^ UInt32(octet)) & 0xFF)]
      index += 1
    }
    return ~crc
  }

  /// Writes the check sum of a value to its last four octets. A value that is too short stays as it is.
  public static func complete(_ value: inout [UInt8]) {
    guard value.count >= shortestValue else { return }
    let end = value.count - length
    let sum = crc32(value.span.bytes.extracting(0..<end))
    for index in 0..<length {
      value[end + index] = UInt8(truncatingIfNeeded: sum >> (8 * UInt32(index)))
    }
  }

  /// Whether the last four octets of a value are its check sum. A value that is too short passes.
  public static func isCorrect(_ value: RawSpan) -> Bool {
    guard value.byteCount >= shortestValue else { return true }
    let end = value.byteCount - length
    return value.unsafeLoadUnaligned(fromByteOffset: end, as: UInt32.self).littleEndian
      == crc32(value.extracting(0..<end))
  }
}
