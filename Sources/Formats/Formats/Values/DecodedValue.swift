import AttoATT

/// The fields of a value.
public struct DecodedValue: Sendable, Equatable {
  /// A field.
  public struct Field: Sendable, Equatable {
    /// The name, such as `heartRate`.
    public let name: String
    /// The content.
    public let content: Content
    /// The symbol of the unit, also of one that the field names by its number; nil for numbers without
    /// one and for other contents.
    public let unit: String?
    let display: ValueField.Display
    let words: String
  }

  /// The content of a field.
  public enum Content: Sendable, Equatable {
    /// A number.
    case number(DecimalNumber)
    /// A floating-point number of IEEE 754, finite.
    case double(Double)
    /// A number that is written in hexadecimal, with this many digits.
    case hex(UInt64, digits: Int)
    /// A word or a formatted text of Atto's, such as `chest` or `2026-11-22 18:30:00`.
    case word(String)
    /// The names of the set bits.
    case words([String])
    /// A text that the peer has chosen.
    case text(String)
    /// A repeated field.
    case list([Content])
    /// No value, and why: `unknown`, `NaN`.
    case unknown(String)
  }

  /// The fields in their order, without flags and reserved fields.
  public private(set) var fields: [Field] = []
  /// Octets after the last field.
  public internal(set) var rest: [UInt8] = []

  init() {}

  mutating func append(_ field: ValueField, _ content: Content) {
    guard field.display != .never else { return }
    let unit: String? =
      switch content {
      case .number, .double, .list: field.unit
      case .hex(let number, _) where field.kind == .unit:
        ValueFormat.table.units[UInt16(truncatingIfNeeded: number)]
      default: nil
      }
    fields.append(
      Field(
        name: field.name, content: content, unit: unit, display: field.display,
        words: field.words))
  }
}

extension DecodedValue: CustomStringConvertible {
  /// The fields as text: `72 bpm, energy expended 12 kJ`. Texts of the peer are in quotation marks and
  /// not escaped otherwise.
  public var description: String {
    var parts: [String] = []
    for field in fields where field.display != .hidden {
      if case .words(let words) = field.content, words.isEmpty, fields.count > 1 { continue }
      let text = field.content.description + (field.unit.map { " \($0)" } ?? "")
      parts.append(field.display == .named ? "\(field.words) \(text)" : text)
    }
    if !rest.isEmpty { parts.append("followed by \(Hex.text(rest))") }
    if parts.isEmpty { return "no fields" }
    return parts.joined(separator: ", ")
  }
}

extension DecodedValue.Content: CustomStringConvertible {
  /// The content without its unit.
  public var description: String {
    switch self {
    case .number(let number): number.description
    case .double(let number): "\(number)"
    case .hex(let number, let digits):
      "0x" + String(repeating: "0", count: max(0, digits - String(number, radix: 16).count))
        + String(number, radix: 16, uppercase: true)
    case .word(let word): word
    case .words(let words): words.isEmpty ? "none" : words.joined(separator: ", ")
    case .text(let text):
      "\"" + text.map { $0 == "\\" || $0 == "\"" ? "\\\($0)" : "\($0)" }.joined() + "\""
    case .list(let contents):
      contents.isEmpty ? "none" : contents.map(\.description).joined(separator: " ")
    case .unknown(let reason): reason
    }
  }
}
