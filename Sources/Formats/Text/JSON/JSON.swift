/// A JSON value to be written. Objects keep the order of their members.
package indirect enum JSON: Sendable {
  case string(String)
  case integer(Int)
  /// A number as JSON writes it.
  case number(String)
  case bool(Bool)
  case null
  case array([JSON])
  case object([(name: String, value: JSON)])

  /// The text, without spaces. What terminals do not show is escaped.
  package var text: String {
    switch self {
    case .string(let text): Self.quoted(text)
    case .integer(let number): "\(number)"
    case .number(let text): text
    case .bool(let value): value ? "true" : "false"
    case .null: "null"
    case .array(let values): "[" + values.map(\.text).joined(separator: ",") + "]"
    case .object(let members):
      "{" + members.map { Self.quoted($0.name) + ":" + $0.value.text }.joined(separator: ",") + "}"
    }
  }

  private static func quoted(_ text: String) -> String {
    var quoted = "\""
    for scalar in text.unicodeScalars {
      if scalar == "\"" || scalar == "\\" { quoted += "\\" }
      quoted.unicodeScalars.append(scalar)
    }
    return quoted.printableJSON + "\""
  }
}

extension JSON: Equatable {
  package static func == (a: JSON, b: JSON) -> Bool { a.text == b.text }
}
