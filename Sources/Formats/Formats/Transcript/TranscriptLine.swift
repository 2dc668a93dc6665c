import AttoATT
import AttoText

/// A line of a transcript, read word by word.
///
/// Words are separated by spaces and tabs. In a step, a word that starts with `#` starts a comment.
struct TranscriptLine {
  let number: Int
  private let bytes: ArraySlice<UInt8>
  private var index: Int

  /// Reads a text line by line. Limits: 4 MiB, ``TranscriptParser/lineLimit`` lines.
  static func each(
    of bytes: [UInt8], _ body: (inout TranscriptLine) throws(TranscriptError) -> Void
  ) throws(TranscriptError) {
    do throws(TextMistake) {
      try TextMistake.check(bytes)
    } catch {
      throw TranscriptError(
        position: TextPosition(of: error.offset, in: bytes), expected: error.expected,
        found: error.found)
    }
    let limit = TranscriptParser.lineLimit
    var number = 0
    for line in bytes.split(separator: 0x0A, omittingEmptySubsequences: false) {
      number += 1
      guard number <= limit else {
        throw TranscriptError(
          position: TextPosition(line: number, column: 1), expected: "at most \(limit) lines",
          found: "another")
      }
      var line = try TranscriptLine(line, number: number)
      try body(&line)
    }
  }

  struct Word {
    var text: String
    var position: TextPosition

    func mistake(_ expected: String) -> TranscriptError {
      TranscriptError(position: position, expected: expected, found: quoted(text))
    }
  }

  /// Throws for control characters, because they are invisible in the file and in messages, and a
  /// carriage return at the end of a name would be lost.
  init(_ line: ArraySlice<UInt8>, number: Int) throws(TranscriptError) {
    var line = line
    // Windows ends lines with CR LF.
    if line.last == 0x0D { line.removeLast() }
    bytes = line
    index = line.startIndex
    self.number = number
    guard let place = line.firstIndex(where: { $0 < 0x20 && $0 != 0x09 || $0 == 0x7F }) else {
      return
    }
    throw TranscriptError(
      position: TextPosition(line: number, column: column(of: place)),
      expected: "text without control characters",
      found: "the byte 0x" + Hex.text([line[place]]))
  }

  /// The position of the next byte other than a space.
  var position: TextPosition {
    let start = skipped(from: index)
    return TextPosition(line: number, column: column(of: start))
  }

  private func column(of index: Int) -> Int {
    bytes[..<index].count { $0 & 0xC0 != 0x80 } + 1
  }

  private func skipped(from index: Int) -> Int {
    bytes[index...].firstIndex { $0 != 0x20 && $0 != 0x09 } ?? bytes.endIndex
  }

  /// Reads the next word; nil at the end of the line.
  mutating func word() -> Word? {
    let position = position
    index = skipped(from: index)
    guard index < bytes.endIndex else { return nil }
    let start = index
    index = bytes[start...].firstIndex { $0 == 0x20 || $0 == 0x09 } ?? bytes.endIndex
    return Word(text: String(decoding: bytes[start..<index], as: UTF8.self), position: position)
  }

  /// Reads the next word of a step; nil at its end, where a comment may start.
  mutating func stepWord() -> Word? {
    let start = index
    guard let word = word(), !word.text.hasPrefix("#") else {
      index = start
      return nil
    }
    return word
  }

  /// The rest of the line, without spaces around it.
  var rest: String {
    let start = skipped(from: index)
    let end = bytes[start...].lastIndex { $0 != 0x20 && $0 != 0x09 }
    return end.map { String(decoding: bytes[start...$0], as: UTF8.self) } ?? ""
  }

  /// The rest of the line without a comment.
  var restWithoutComment: String {
    var line = self
    var end = line.index
    while line.stepWord() != nil { end = line.index }
    let start = skipped(from: index)
    return start < end ? String(decoding: bytes[start..<end], as: UTF8.self) : ""
  }

  func missing(_ expected: String) -> TranscriptError {
    TranscriptError(position: position, expected: expected, found: "the end of the line")
  }

  /// Checks that the step ends here.
  mutating func end() throws(TranscriptError) {
    if let word = stepWord() { throw word.mistake("the end of the line") }
  }

  // MARK: - PDUs

  /// Reads the octets of a client's PDU.
  mutating func octets() throws(TranscriptError) -> [UInt8] {
    var octets: [UInt8] = []
    while let word = stepWord() {
      let expected = "pairs of hexadecimal digits"
      guard let bytes = Hex.octets(word.text.utf8, separators: " ") else {
        let isWild = word.text == "??" || word.text == "..."
        throw word.mistake(isWild ? expected + " (a client's PDUs are exact)" : expected)
      }
      octets += bytes
      try check(octets.count, word)
    }
    return octets
  }

  /// Reads the pattern of a server's PDU.
  ///
  /// - Parameter end: the word that must follow; nil for the end of the step.
  mutating func pattern(until end: String? = nil) throws(TranscriptError) -> Transcript.Pattern {
    var pattern = Transcript.Pattern([])
    while let word = stepWord() {
      if word.text == end { return pattern }
      guard !pattern.isOpen else { throw word.mistake("nothing after ...") }
      switch word.text {
      case "...": pattern.isOpen = true
      case "??": pattern.octets.append(nil)
      default:
        guard let bytes = Hex.octets(word.text.utf8, separators: " ") else {
          throw word.mistake("pairs of hexadecimal digits, ?? or ...")
        }
        pattern.octets += bytes
      }
      try check(pattern.octets.count, word)
    }
    if let end { throw missing(end) }
    return pattern
  }

  private func check(_ count: Int, _ word: Word) throws(TranscriptError) {
    let limit = TranscriptParser.octetLimit
    guard count <= limit else {
      throw TranscriptError(
        position: word.position, expected: "at most \(limit) octets", found: "\(count)")
    }
  }

  // MARK: - Arguments

  /// Reads one or more words.
  mutating func words(_ expected: String) throws(TranscriptError) -> [String] {
    var words: [String] = []
    while let word = stepWord() { words.append(word.text) }
    guard !words.isEmpty else { throw missing(expected) }
    return words
  }

  /// Reads a word with a meaning.
  mutating func argument<Value>(
    _ expected: String, _ parse: (String) -> Value?
  ) throws(TranscriptError) -> Value {
    guard let word = stepWord() else { throw missing(expected) }
    guard let value = parse(word.text) else { throw word.mistake(expected) }
    return value
  }

  mutating func duration() throws(TranscriptError) -> Duration {
    try argument("a duration such as 30.1s or 200ms, at most a day", TranscriptDuration.parse)
  }

  mutating func security() throws(TranscriptError) -> LinkSecurity {
    let names = SecurityLevel.allCases.map { "\($0)" }
    let expected = "one of " + names.joined(separator: ", ")
    guard let word = stepWord() else { throw missing(expected) }
    guard let level = SecurityLevel.allCases.first(where: { "\($0)" == word.text }) else {
      var mistake = word.mistake(expected)
      mistake.found += NearestWord.hint(for: word.text, among: names)
      throw mistake
    }
    var security = LinkSecurity(level)
    guard let size = stepWord() else { return security }
    guard level != .low else { throw size.mistake("no key size for an unencrypted link") }
    guard let octets = UInt8(size.text), 7...16 ~= octets else {
      throw size.mistake("a key size from 7 to 16 octets")
    }
    security.keySize = octets
    return security
  }
}
