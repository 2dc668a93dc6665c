import AttoText

extension CommandDescription {
  package var help: String {
    var text = usage + "\n\n" + summary + "\n"
    for paragraph in details.pieces(between: "\n\n") {
      let isVerbatim = paragraph.hasPrefix(" ")
      text += "\n" + (isVerbatim ? String(paragraph) : Self.wrapped(paragraph, indent: 0)) + "\n"
    }
    if !arguments.isEmpty {
      text += "\narguments:\n"
      for argument in arguments { text += Self.entry(argument.name, argument.summary) }
    }
    for group in options {
      text += "\n\(group.title):\n"
      for option in group.options.map(\.description) { text += Self.entry(option) }
    }
    text += "\n" + (examples.count == 1 ? "example:\n" : "examples:\n")
    text += examples.map { "  \($0)" }.joined(separator: "\n")
    return text
  }

  private static func entry(_ option: OptionDescription) -> String {
    entry(option.spelling + (option.argument.map { " \($0)" } ?? ""), option.wholeSummary)
  }

  private static func entry(_ left: String, _ right: String) -> String {
    let first = "  " + left.padded(to: margin - 4) + "  "
    return first + wrapped(right, indent: margin, column: first.count) + "\n"
  }

  private static let margin = 26
  private static let width = 80

  /// Breaks a text into lines of at most ``width`` columns, all but the first indented. Defaults are
  /// not broken.
  private static func wrapped(_ text: some StringProtocol, indent: Int, column: Int = 0) -> String {
    var (out, column, isStart) = ("", column, true)
    let unbreakable = String(text).replacing(each: "(default: ", with: "(default:\u{A0}")
    for word in unbreakable.split(whereSeparator: { $0 == " " || $0 == "\n" }) {
      if !isStart, column + 1 + word.count > width {
        out += "\n" + String(repeating: " ", count: indent)
        (column, isStart) = (indent, true)
      }
      out += (isStart ? "" : " ") + word
      column += word.count + (isStart ? 0 : 1)
      isStart = false
    }
    return out.replacing(each: "\u{A0}", with: " ")
  }
}

extension OptionDescription {
  /// The summary with the allowed values and the default.
  var wholeSummary: String {
    var text = String(summary.dropLast())
    if !allowedValues.isEmpty { text += ": " + allowedValues.alternatives }
    if let defaultValue { text += " (default: \(defaultValue))" }
    if isRepeatable { text += "; may be repeated" }
    return text + "."
  }
}
