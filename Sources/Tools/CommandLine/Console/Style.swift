import AttoText
import Glibc

/// The kind of a line, which decides what of it is in colour on a terminal: the headings of help, and
/// the words that introduce errors, warnings and hints.
///
/// Colour is added at the beginning of lines that are escaped already, so it cannot make a text
/// harmful. There is none with `NO_COLOR` (no-color.org), with `TERM=dumb`, and in files and pipes.
enum Style {
  case result
  case note
  /// The message of an error, after the name of the command.
  case failure
  case help

  static func isColorful(_ descriptor: Int32) -> Bool {
    guard isatty(descriptor) == 1, variable("NO_COLOR").isEmpty else { return false }
    return !["", "dumb"].contains(variable("TERM"))
  }

  private static func variable(_ name: String) -> String {
    getenv(name).map { String(cString: $0) } ?? ""
  }

  /// The line in colour.
  func apply(to line: String) -> String {
    switch self {
    case .result: return line
    case .note: return Self.note(line)
    case .failure:
      guard let colon = line.firstIndex(of: ":") else { return line }
      return Self.paint(line[...colon], Self.red) + line[colon...].dropFirst()
    case .help where line.hasSuffix(":") && !line.hasPrefix(" "): return Self.paint(line, Self.bold)
    case .help: return Self.note(line)
    }
  }

  private static func note(_ line: String) -> String {
    for (word, code) in [("hint:", cyan), ("usage:", bold), ("warning:", yellow)]
    where line.hasPrefix(word + " ") {
      return paint(word, code) + line.dropFirst(word.count)
    }
    // `atto serve: warning: ...`
    let parts = line.pieces(between: ": ", maxSplits: 2)
    guard parts.count == 3, parts[0].hasPrefix("atto"), parts[1] == "warning" else { return line }
    return "\(parts[0]): \(paint("warning:", yellow)) \(parts[2])"
  }

  private static let (bold, red, yellow, cyan) = ("1", "1;31", "1;33", "1;36")

  private static func paint(_ text: some StringProtocol, _ code: String) -> String {
    "\u{1B}[\(code)m\(text)\u{1B}[0m"
  }
}
