/// The values of ST's throughput application, BLE_DataThroughput of STM32CubeWB and STM32CubeWBA, as its sources have
/// them: a number in the first octet, which wraps at 256, then octets that are their places, and a check sum in the last.
public enum STThroughput {
  /// The length of the shortest value in octets.
  public static let shortestValue = 4

  private static let table: [UInt8] = (0..<256).map { octet in
    (0..<8).reduce(UInt8(octet)) { crc, _ in crc & 0x80 != 0 ? crc << 1 ^ 0x97 : crc << 1 }
  }

  /// The check sum: a CRC-8 with the polynomial x^8 + x^7 + x^4 + x^2 + x + 1, which begins with 0.
  public static func crc8(_ octets: RawSpan) -> UInt8 {
    let table = table.span
    var crc: UInt8 = 0
    for index in 0..<octets.byteCount {
      crc = table[Int(crc ^ octets.unsafeLoad(fromByteOffset: index, as: UInt8.self))]
    }
    return crc
  }

  /// The value with this number and length in octets, at least ``shortestValue``.
  public static func value(_ number: UInt8, size: Int) -> [UInt8] {
    var octets = (0..<max(shortestValue, size)).map { UInt8(truncatingIfNeeded: $0) }
    complete(&octets, number: number)
    return octets
  }

  /// Sets the number and the check sum of a value. A value that is too short stays as it is.
  public static func complete(_ value: inout [UInt8], number: UInt8) {
    guard value.count >= shortestValue else { return }
    value[0] = number
    let end = value.count - 1
    value[end] = crc8(value.span.bytes.extracting(0..<end))
  }

  /// The number of a value; nil if it is too short or its check sum is wrong.
  public static func number(of value: RawSpan) -> UInt8? {
    let end = value.byteCount - 1
    guard value.byteCount >= shortestValue,
      value.unsafeLoad(fromByteOffset: end, as: UInt8.self) == crc8(value.extracting(0..<end))
    else { return nil }
    return value.unsafeLoad(fromByteOffset: 0, as: UInt8.self)
  }
}
