/// The format of an integer.
public struct OSLogIntegerFormatting: Sendable {
  private var radix = 10
  private var isUppercase = false
  private var hasPrefix = false
  private var hasPlus = false
  private var minimumDigits = 0

  public static var decimal: OSLogIntegerFormatting { OSLogIntegerFormatting() }
  public static func decimal(
    explicitPositiveSign: Bool = false, minDigits: Int = 0
  ) -> OSLogIntegerFormatting {
    OSLogIntegerFormatting(hasPlus: explicitPositiveSign, minimumDigits: minDigits)
  }
  public static var hex: OSLogIntegerFormatting { OSLogIntegerFormatting(radix: 16) }
  public static func hex(
    explicitPositiveSign: Bool = false, includePrefix: Bool = false, uppercase: Bool = false,
    minDigits: Int = 0
  ) -> OSLogIntegerFormatting {
    OSLogIntegerFormatting(
      radix: 16, isUppercase: uppercase, hasPrefix: includePrefix, hasPlus: explicitPositiveSign,
      minimumDigits: minDigits)
  }
  public static var octal: OSLogIntegerFormatting { OSLogIntegerFormatting(radix: 8) }
  public static func octal(
    explicitPositiveSign: Bool = false, includePrefix: Bool = false, uppercase: Bool = false,
    minDigits: Int = 0
  ) -> OSLogIntegerFormatting {
    OSLogIntegerFormatting(
      radix: 8, hasPrefix: includePrefix, hasPlus: explicitPositiveSign, minimumDigits: minDigits)
  }

  func text(_ number: some BinaryInteger) -> String {
    let digits = String(number.magnitude, radix: radix, uppercase: isUppercase)
    let zeros = String(repeating: "0", count: max(0, min(minimumDigits, 64) - digits.utf8.count))
    let sign = number < 0 ? "-" : hasPlus ? "+" : ""
    let prefix = !hasPrefix || radix == 10 ? "" : radix == 16 ? "0x" : "0o"
    return sign + prefix + zeros + digits
  }
}

/// The format of a floating-point number.
public struct OSLogFloatFormatting: Sendable {
  private enum Form { case fixed, exponential, hybrid, hex }
  private var form: Form
  private var precision = 6
  private var hasPlus = false
  private var isUppercase = false

  public static var fixed: OSLogFloatFormatting { OSLogFloatFormatting(form: .fixed) }
  public static func fixed(
    precision: Int = 6, explicitPositiveSign: Bool = false, uppercase: Bool = false
  ) -> OSLogFloatFormatting {
    OSLogFloatFormatting(
      form: .fixed, precision: precision, hasPlus: explicitPositiveSign, isUppercase: uppercase)
  }
  public static var exponential: OSLogFloatFormatting { OSLogFloatFormatting(form: .exponential) }
  public static func exponential(
    precision: Int = 6, explicitPositiveSign: Bool = false, uppercase: Bool = false
  ) -> OSLogFloatFormatting {
    OSLogFloatFormatting(
      form: .exponential, precision: precision, hasPlus: explicitPositiveSign,
      isUppercase: uppercase)
  }
  public static var hybrid: OSLogFloatFormatting { OSLogFloatFormatting(form: .hybrid) }
  public static func hybrid(
    precision: Int = 6, explicitPositiveSign: Bool = false, uppercase: Bool = false
  ) -> OSLogFloatFormatting {
    OSLogFloatFormatting(
      form: .hybrid, precision: precision, hasPlus: explicitPositiveSign, isUppercase: uppercase)
  }
  public static var hex: OSLogFloatFormatting { OSLogFloatFormatting(form: .hex) }

  func text(_ number: Double) -> String {
    let conversion =
      switch form {
      case .fixed: "f"
      case .exponential: "e"
      case .hybrid: "g"
      case .hex: "a"
      }
    return CFormat.text(
      number, flags: hasPlus ? "+" : "", precision: form == .hex ? nil : min(max(0, precision), 64),
      conversion: isUppercase ? conversion.uppercased() : conversion)
  }
}

/// The format of a Bool.
public enum OSLogBoolFormat: Sendable {
  /// true and false
  case truth
  /// yes and no
  case answer

  func text(_ value: Bool) -> String {
    switch self {
    case .truth: value ? "true" : "false"
    case .answer: value ? "yes" : "no"
    }
  }
}

/// The width and alignment of a value.
public struct OSLogStringAlignment: Sendable {
  private var columns = 0
  private var isLeft = true

  public static var none: OSLogStringAlignment { OSLogStringAlignment() }
  public static func left(columns: Int) -> OSLogStringAlignment {
    OSLogStringAlignment(columns: columns)
  }
  public static func right(columns: Int) -> OSLogStringAlignment {
    OSLogStringAlignment(columns: columns, isLeft: false)
  }

  func applied(to text: String) -> String {
    guard columns > 0 else { return text }
    let spaces = String(repeating: " ", count: max(0, min(columns, 1024) - text.count))
    return isLeft ? text + spaces : spaces + text
  }
}
