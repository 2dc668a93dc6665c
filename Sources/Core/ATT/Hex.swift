/// Hexadecimal text, written and read. Works on UTF-8, because Foundation is not available here.
package enum Hex {
  /// Two lowercase digits for each octet, with `separator` between the pairs.
  package static func text(_ octets: some Sequence<UInt8>, separator: String = "") -> String {
    var text = ""
    text.reserveCapacity(octets.underestimatedCount * (2 + separator.utf8.count))
    for octet in octets {
      if !text.isEmpty { text += separator }
      text += digits(octet, uppercase: false)
    }
    return text
  }

  /// The digits of a number, padded with zeros to `count`. The default is the width of its type.
  package static func digits<T: FixedWidthInteger & UnsignedInteger>(
    _ value: T, count: Int = T.bitWidth / 4, uppercase: Bool = true
  ) -> String {
    let digits = String(value, radix: 16, uppercase: uppercase)
    guard digits.utf8.count < count else { return digits }
    return String(repeating: "0", count: count - digits.utf8.count) + digits
  }

  /// The octets of pairs of digits in either case; nil for any other text.
  ///
  /// Characters of `separators` are skipped before, between and after pairs, never inside one.
  /// A prefix such as `0x` is not accepted.
  package static func octets(
    _ text: some Sequence<UInt8>, separators: String = ""
  ) -> [UInt8]? {
    var octets: [UInt8] = []
    octets.reserveCapacity(text.underestimatedCount / 2)
    var high: UInt8?
    for character in text {
      if high == nil, separators.utf8.contains(character) { continue }
      guard let digit = digit(character) else { return nil }
      if let first = high {
        octets.append(first << 4 | digit)
        high = nil
      } else {
        high = digit
      }
    }
    return high == nil ? octets : nil
  }

  /// The number that 1 to 16 digits write; nil for any other text, such as one with a sign.
  package static func number(_ text: some Sequence<UInt8>) -> UInt64? {
    var value: UInt64 = 0
    var count = 0
    for character in text {
      guard count < 16, let digit = digit(character) else { return nil }
      value = value << 4 | UInt64(digit)
      count += 1
    }
    return count > 0 ? value : nil
  }

  /// The value of a digit in either case; nil for any other character.
  package static func digit(_ character: UInt8) -> UInt8? {
    switch character {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): character &- UInt8(ascii: "0")
    case UInt8(ascii: "A")...UInt8(ascii: "F"): character &- UInt8(ascii: "A") &+ 10
    case UInt8(ascii: "a")...UInt8(ascii: "f"): character &- UInt8(ascii: "a") &+ 10
    default: nil
    }
  }
}
