import AttoText

/// Text for man and mandoc, in the man(7) macros.
struct Roff {
  private(set) var body = ""
  private var lastHeading = ""

  /// Text without markup: what roff would take for markup, or replace by a typographic character, is
  /// escaped.
  static func escaped(_ text: some StringProtocol) -> String {
    var out = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\\": out += "\\e"
      case "-": out += "\\-"
      case "'": out += "\\(aq"
      case "\"": out += "\\(dq"
      case "`": out += "\\(ga"
      case "^": out += "\\(ha"
      case "~": out += "\\(ti"
      case _ where scalar.isASCII: out.unicodeScalars.append(scalar)
      default:
        out +=
          "\\[u" + String(scalar.value, radix: 16, uppercase: true).padded(left: 4, with: "0") + "]"
      }
    }
    // A control line begins with a full stop.
    return out.hasPrefix(".") ? "\\&" + out : out
  }

  mutating func line(_ line: String) { body += line + "\n" }

  mutating func section(_ title: String) {
    lastHeading = ".SH \(title.uppercased())\n"
    body += lastHeading
  }

  mutating func subsection(_ title: String) { line(".SS \(Self.escaped(title))") }

  /// Filled text, one sentence per line.
  ///
  /// - Parameter keepsFirstDash: for the line that indexes look at.
  mutating func text(_ text: some StringProtocol, keepsFirstDash: Bool = false) {
    let words = text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    guard !keepsFirstDash else {
      let parts = words.pieces(between: " - ", maxSplits: 1).map { Self.escaped($0) }
      return line(parts.joined(separator: " \\- "))
    }
    for sentence in words.replacing(each: ". ", with: ".\n").split(separator: "\n") {
      line(Self.escaped(sentence))
    }
  }

  /// A paragraph of ``CommandDescription/details``: indented ones are kept as they are.
  mutating func paragraph(_ text: String) {
    if text.hasPrefix(" ") { verbatim(text) } else { self.text(text) }
  }

  mutating func verbatim(_ text: String) {
    let lines = text.split(separator: "\n").map { $0.hasPrefix("  ") ? $0.dropFirst(2) : $0 }
    // After a heading, .PP would have no effect.
    if !body.hasSuffix(lastHeading) { line(".PP") }
    line(".in +4n\n.nf")
    for text in lines { line(Self.escaped(text)) }
    line(".fi\n.in")
  }

  /// Words in bold, and the rest of the line.
  mutating func words(_ bold: [String], then rest: String) {
    line("\\fB\(Self.escaped(bold.joined(separator: " ")))\\fR \(Self.escaped(rest))")
  }

  /// An item with its description.
  mutating func entry(_ bold: String, _ italic: String, _ summary: String) {
    let parts = [(bold, "B"), (italic, "I")].filter { !$0.0.isEmpty }
    line(".TP")
    line(parts.map { "\\f\($0.1)\(Self.escaped($0.0))\\fR" }.joined(separator: " "))
    text(summary)
  }
}
