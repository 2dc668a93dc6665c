/// A message with values in it, each with the way in which it is written and whether it is shown.
public struct OSLogMessage: ExpressibleByStringInterpolation, Sendable {
  let text: String

  public init(stringLiteral value: String) { text = value }
  public init(stringInterpolation: OSLogInterpolation) { text = stringInterpolation.text }
}

/// What `\(...)` in a message accepts.
public struct OSLogInterpolation: StringInterpolationProtocol, Sendable {
  var text = ""

  public init(literalCapacity: Int, interpolationCount: Int) {
    text.reserveCapacity(literalCapacity + interpolationCount * 16)
  }

  public mutating func appendLiteral(_ literal: String) { text += literal }

  private mutating func append(
    _ value: String, _ align: OSLogStringAlignment, _ privacy: OSLogPrivacy
  ) {
    text += align.applied(to: privacy.shown(value))
  }

  /// A whole number.
  public mutating func appendInterpolation(
    _ number: some FixedWidthInteger, format: OSLogIntegerFormatting = .decimal,
    align: OSLogStringAlignment = .none, privacy: OSLogPrivacy = .auto
  ) {
    append(format.text(number), align, privacy)
  }

  /// A number with a fraction.
  public mutating func appendInterpolation(
    _ number: some BinaryFloatingPoint, format: OSLogFloatFormatting = .fixed,
    align: OSLogStringAlignment = .none, privacy: OSLogPrivacy = .auto
  ) {
    append(format.text(Double(number)), align, privacy)
  }

  /// A truth value.
  public mutating func appendInterpolation(
    _ boolean: Bool, format: OSLogBoolFormat = .truth, privacy: OSLogPrivacy = .auto
  ) {
    append(format.text(boolean), .none, privacy)
  }

  /// A text.
  public mutating func appendInterpolation(
    _ string: String, align: OSLogStringAlignment = .none, privacy: OSLogPrivacy = .auto
  ) {
    append(string, align, privacy)
  }

  /// Whatever describes itself, and has no form of its own above.
  @_disfavoredOverload
  public mutating func appendInterpolation(
    _ value: some CustomStringConvertible, align: OSLogStringAlignment = .none,
    privacy: OSLogPrivacy = .auto
  ) {
    append(value.description, align, privacy)
  }

  /// An error.
  public mutating func appendInterpolation(
    _ error: any Error, align: OSLogStringAlignment = .none, privacy: OSLogPrivacy = .auto
  ) {
    append("\(error)", align, privacy)
  }

  /// A type, by its name.
  public mutating func appendInterpolation(
    _ type: any Any.Type, align: OSLogStringAlignment = .none, privacy: OSLogPrivacy = .auto
  ) {
    append(String(reflecting: type), align, privacy)
  }
}
