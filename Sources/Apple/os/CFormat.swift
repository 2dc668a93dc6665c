import Glibc

/// Formats a floating-point number with C's printf.
enum CFormat {
  static func text(_ number: Double, flags: String, precision: Int?, conversion: String) -> String {
    let format = "%" + flags + (precision.map { ".\($0)" } ?? "") + conversion
    // Up to 309 digits before the point and 64 behind it, a sign and an exponent.
    return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 512) { buffer in
      let count = withVaList([number]) { vsnprintf(buffer.baseAddress, buffer.count, format, $0) }
      guard count >= 0, let start = buffer.baseAddress else { return "\(number)" }
      return String(cString: start)
    }
  }
}

/// Formats a message of `os_log` in printf format: `%d`, `%{public}@`, `%.2f`.
///
/// It knows the types of the values: a value that does not fit its conversion is formatted by its
/// description, and a missing one as `<missing>`.
struct FormattedText {
  private var octets: Substring
  private var values: ArraySlice<Any?>
  private(set) var text = ""

  init(_ format: String, _ values: [Any?]) {
    octets = format[...]
    self.values = values[...]
    while let next = octets.popFirst() {
      if next == "%" { convert() } else { text.append(next) }
    }
  }

  private struct Conversion {
    var privacy = OSLogPrivacy.auto
    var flags = ""
    var width = 0
    var precision: Int?
  }

  private mutating func convert() {
    var conversion = Conversion()
    if octets.first == "{" {
      let words = octets.dropFirst().prefix { $0 != "}" }
      octets = octets.dropFirst(words.count + 2)
      conversion.privacy = Self.privacy(words)
    }
    while let flag = octets.first, "-+ #0".contains(flag) {
      conversion.flags.append(flag)
      octets.removeFirst()
    }
    conversion.width = number() ?? 0
    if octets.first == "." {
      octets.removeFirst()
      conversion.precision = number() ?? 0
    }
    while let size = octets.first, "hlqjztL".contains(size) { octets.removeFirst() }
    guard let kind = octets.popFirst() else { return text.append("%") }
    switch kind {
    case "%": text.append("%")
    case "m": text += String(cString: strerror(errno))
    default:
      let value = values.popFirst().map { value in
        value.map { Self.text($0, kind, conversion) } ?? "(null)"
      }
      text += pad(conversion.privacy.shown(value ?? "<missing>"), conversion)
    }
  }

  /// Parses a width or precision: digits, or `*` for the next value. Limits it to 0 to 1024.
  private mutating func number() -> Int? {
    if octets.first == "*" {
      octets.removeFirst()
      return (values.popFirst() as? any BinaryInteger).map { min(max(0, Int(clamping: $0)), 1024) }
    }
    let digits = octets.prefix { $0.isASCII && $0.isNumber }
    octets = octets.dropFirst(digits.count)
    return digits.isEmpty ? nil : min(Int(digits) ?? 1024, 1024)
  }

  private func pad(_ value: String, _ conversion: Conversion) -> String {
    let count = max(0, conversion.width - value.count)
    let isZero = conversion.flags.contains("0") && !conversion.flags.contains("-")
    guard count > 0 else { return value }
    if conversion.flags.contains("-") { return value + String(repeating: " ", count: count) }
    guard isZero else { return String(repeating: " ", count: count) + value }
    let sign = value.prefix { "+-".contains($0) }
    return sign + String(repeating: "0", count: count) + value.dropFirst(sign.count)
  }

  private static func privacy(_ words: Substring) -> OSLogPrivacy {
    for word in words.split(separator: ",") {
      switch word.drop(while: { $0 == " " }) {
      case "private": return .private
      case "sensitive": return .sensitive
      case "mask.hash": return .private(mask: .hash)
      default: break
      }
    }
    return .auto
  }

  private static func text(
    _ value: Any, _ kind: Character, _ conversion: Conversion
  ) -> String {
    let sign = conversion.flags.contains("+")
    if let number = value as? any BinaryInteger {
      let digits = conversion.precision ?? 0
      switch kind {
      case "x", "X", "p":
        let format = OSLogIntegerFormatting.hex(
          includePrefix: kind == "p" || kind == "x" && conversion.flags.contains("#"),
          uppercase: kind == "X", minDigits: digits)
        return format.text(unsigned(number))
      case "o": return OSLogIntegerFormatting.octal(minDigits: digits).text(unsigned(number))
      case "u": return OSLogIntegerFormatting.decimal(minDigits: digits).text(unsigned(number))
      case "c":
        return Unicode.Scalar(UInt32(truncatingIfNeeded: number)).map { String($0) } ?? "?"
      case "f", "e", "g": return "\(number)"
      default:
        return OSLogIntegerFormatting.decimal(explicitPositiveSign: sign, minDigits: digits)
          .text(number)
      }
    }
    if let number = value as? any BinaryFloatingPoint, "fFeEgGa".contains(kind) {
      return CFormat.text(
        Double(number), flags: sign ? "+" : "", precision: conversion.precision.map { min($0, 64) },
        conversion: String(kind))
    }
    let pointer = kind == "s" ? value as? UnsafePointer<CChar> : nil
    let text = pointer.map { String(cString: $0) } ?? "\(value)"
    return conversion.precision.map { String(text.prefix($0)) } ?? text
  }

  /// The bits as an unsigned number, as in C's unsigned conversions.
  private static func unsigned(_ number: any BinaryInteger) -> UInt64 {
    let bits = UInt64(truncatingIfNeeded: number)
    return number.bitWidth < 64 ? bits & (1 << UInt64(number.bitWidth) - 1) : bits
  }
}
