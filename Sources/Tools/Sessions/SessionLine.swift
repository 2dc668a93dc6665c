import AttoCommandLine

/// A line of a session, split into words.
///
/// Spaces separate words. Quotes hold words together: in `'` everything is as it is, in `"` and outside
/// `\` escapes the next character and `$NAME` or `${NAME}` is the value of a variable. `#` at the
/// beginning of a word starts a comment.
struct SessionLine {
  /// Bytes in the words of a line, after variables are replaced.
  static let limit = 65536

  let words: [String]

  /// - Parameter variable: the value of a variable; nil if there is none of that name.
  init(_ text: String, variable: @escaping (String) -> String?) throws(UsageError) {
    var reader = Reader(rest: text[...], variable: variable)
    words = try reader.read()
  }

  private struct Reader {
    var rest: Substring
    let variable: (String) -> String?
    var words: [String] = []
    /// The word so far; nil between words.
    var word: String?
    var length = 0

    mutating func read() throws(UsageError) -> [String] {
      while let character = rest.popFirst() {
        switch character {
        case " ", "\t", "\r": finish()
        case "#" where word == nil: return words
        case "'": try quoted(by: character)
        case "\"": try quoted(by: character)
        case "$": try replaceVariable()
        case "\\": try add(rest.popFirst().map(String.init) ?? "\\")
        default: try add(String(character))
        }
      }
      finish()
      return words
    }

    private mutating func add(_ text: String) throws(UsageError) {
      length += text.utf8.count
      guard length <= SessionLine.limit else {
        throw UsageError("the line has more than \(SessionLine.limit) bytes")
      }
      word = (word ?? "") + text
    }

    private mutating func finish() {
      if let word { words.append(word) }
      word = nil
    }

    private mutating func quoted(by quote: Character) throws(UsageError) {
      try add("")
      while let character = rest.popFirst() {
        switch character {
        case quote: return
        case "\\" where quote == "\"": try add(rest.popFirst().map(String.init) ?? "\\")
        case "$" where quote == "\"": try replaceVariable()
        default: try add(String(character))
        }
      }
      throw UsageError("missing \(quote) at the end of the line")
    }

    private mutating func replaceVariable() throws(UsageError) {
      let name: String
      if rest.first == "{", let end = rest.firstIndex(of: "}") {
        name = String(rest[rest.index(after: rest.startIndex)..<end])
        rest = rest[rest.index(after: end)...]
      } else {
        name = String(rest.prefix { $0.isLetter || $0.isNumber || $0 == "_" })
        rest = rest.dropFirst(name.count)
      }
      guard let value = variable(name) else {
        throw UsageError("unknown variable \"$\(name)\"", hint: "let \(name) VALUE sets it")
      }
      try add(value)
    }
  }
}
