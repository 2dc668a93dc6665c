/// How a whole number is written.
public struct OSLogIntegerFormatting: Sendable {
  private let radix: Int
  private let isUppercase: Bool
  private let hasPrefix: Bool
  private let hasPlus: Bool
  private let minimumDigits: Int

  private init(
    radix: Int = 10, isUppercase: Bool = false, hasPrefix: Bool = false, hasPlus: Bool = false,
    minimumDigits: Int = 0
  ) {
    self.radix = radix
    self.isUppercase = isUppercase
    self.hasPrefix = hasPrefix
    self.hasPlus = hasPlus
    self.minimumDigits = min(max(0, minimumDigits), 64)
  }

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
    let zeros = String(repeating: "0", count: max(0, minimumDigits - digits.utf8.count))
    let sign = number < 0 ? "-" : hasPlus ? "+" : ""
    let prefix = !hasPrefix || radix == 10 ? "" : radix == 16 ? "0x" : "0o"
    return sign + prefix + zeros + digits
  }
}

/// How a number with a fraction is written.
public struct OSLogFloatFormatting: Sendable {
  private enum Form { case fixed, exponential, hybrid, hex }
  private let form: Form
  private let precision: Int
  private let hasPlus: Bool
  private let isUppercase: Bool

  private init(_ form: Form, precision: Int = 6, hasPlus: Bool = false, isUppercase: Bool = false) {
    self.form = form
    self.precision = min(max(0, precision), 64)
    self.hasPlus = hasPlus
    self.isUppercase = isUppercase
  }

  public static var fixed: OSLogFloatFormatting { OSLogFloatFormatting(.fixed) }
  public static func fixed(
    precision: Int = 6, explicitPositiveSign: Bool = false, uppercase: Bool = false
  ) -> OSLogFloatFormatting {
    OSLogFloatFormatting(
      .fixed, precision: precision, hasPlus: explicitPositiveSign, isUppercase: uppercase)
  }
  public static var exponential: OSLogFloatFormatting { OSLogFloatFormatting(.exponential) }
  public static func exponential(
    precision: Int = 6, explicitPositiveSign: Bool = false, uppercase: Bool = false
  ) -> OSLogFloatFormatting {
    OSLogFloatFormatting(
      .exponential, precision: precision, hasPlus: explicitPositiveSign, isUppercase: uppercase)
  }
  public static var hybrid: OSLogFloatFormatting { OSLogFloatFormatting(.hybrid) }
  public static func hybrid(
    precision: Int = 6, explicitPositiveSign: Bool = false, uppercase: Bool = false
  ) -> OSLogFloatFormatting {
    OSLogFloatFormatting(
      .hybrid, precision: precision, hasPlus: explicitPositiveSign, isUppercase: uppercase)
  }
  public static var hex: OSLogFloatFormatting { OSLogFloatFormatting(.hex) }

  func text(_ number: Double) -> String {
    let conversion =
      switch form {
      case .fixed: "f"
      case .exponential: "e"
      case .hybrid: "g"
      case .hex: "a"
      }
    return CFormat.text(
      number, flags: hasPlus ? "+" : "", precision: form == .hex ? nil : precision,
      conversion: isUppercase ? conversion.uppercased() : conversion)
  }
}

/// How a truth value is written.
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

/// The columns that a value fills.
public struct OSLogStringAlignment: Sendable {
  private let columns: Int
  private let isLeft: Bool

  private init(columns: Int, isLeft: Bool) {
    self.columns = min(columns, 1024)
    self.isLeft = isLeft
  }

  public static var none: OSLogStringAlignment { OSLogStringAlignment(columns: 0, isLeft: true) }
  public static func left(columns: Int) -> OSLogStringAlignment {
    OSLogStringAlignment(columns: columns, isLeft: true)
  }
  public static func right(columns: Int) -> OSLogStringAlignment {
    OSLogStringAlignment(columns: columns, isLeft: false)
  }

  func applied(to text: String) -> String {
    guard columns > 0 else { return text }
    let spaces = String(repeating: " ", count: max(0, columns - text.count))
    return isLeft ? text + spaces : spaces + text
  }
}
