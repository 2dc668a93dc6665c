/// A number mantissa * 10^exponent, of which no digit is rounded.
public struct DecimalNumber: Sendable, Equatable {
  /// The digits.
  public let mantissa: Int128
  /// The power of ten.
  public let exponent: Int

  init(mantissa: Int128, exponent: Int) {
    self.mantissa = mantissa
    self.exponent = exponent
  }

  /// A number of at most 64 bits in units of a scale.
  init(_ number: Int128, scale: ValueField.Scale) {
    var mantissa = number * Int128(scale.multiplier)
    // 2^-n is 5^n * 10^-n.
    for _ in 0..<abs(scale.binary) { mantissa *= scale.binary < 0 ? 5 : 2 }
    self.init(mantissa: mantissa, exponent: scale.decimal + min(0, scale.binary))
  }

  /// The number if it is whole and has at most 64 bits.
  public var integer: Int64? {
    guard exponent == 0 else { return Int64(description) }
    return Int64(exactly: mantissa)
  }

  /// The nearest floating-point number.
  public var double: Double { Double(description) ?? 0 }
}

extension DecimalNumber: CustomStringConvertible {
  /// `36.4`, without zeros at the end of decimals; `4e-12` far from 1.
  public var description: String {
    guard mantissa != 0 else { return "0" }
    guard exponent <= 12 else { return "\(mantissa)e\(exponent)" }
    guard exponent < 0 else { return "\(mantissa)" + String(repeating: "0", count: exponent) }
    var digits = String(mantissa.magnitude)
    var places = -exponent
    while places > 0, digits.last == "0" {
      digits.removeLast()
      places -= 1
    }
    let sign = mantissa < 0 ? "-" : ""
    guard places <= digits.count + 5 else { return "\(sign)\(digits)e-\(places)" }
    guard places > 0 else { return sign + digits }
    digits = String(repeating: "0", count: max(0, places + 1 - digits.count)) + digits
    return sign + digits.dropLast(places) + "." + digits.suffix(places)
  }
}
