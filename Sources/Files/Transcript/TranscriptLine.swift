import ATT

/// One line of a transcript, taken word by word.
///
/// Words are parted by spaces and tabs. A word that begins with `#` ends a step: the rest of
/// the line is a comment.
struct TranscriptLine {
  let number: Int
  private let bytes: ArraySlice<UInt8>
  private var index: Int

  struct Word {
    var text: String
    var position: TextPosition

    func mistake(_ expected: String) -> TranscriptError {
      TranscriptError(position: position, expected: expected, found: quoted(text))
    }
  }

  /// Throws at a control character: none would be seen by whoever reads the file or a message
  /// that quotes it, and a carriage return at the end of a name would be lost.
  init(_ line: ArraySlice<UInt8>, number: Int) throws(TranscriptError) {
    var line = line
    // A file that was written on Windows.
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
      found: "the byte 0x" + EncodedBytes.hexadecimal([line[place]]))
  }

  /// The place of the next byte that is no space.
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

  /// The next word, or nil at the end of the line.
  mutating func word() -> Word? {
    let position = position
    index = skipped(from: index)
    guard index < bytes.endIndex else { return nil }
    let start = index
    index = bytes[start...].firstIndex { $0 == 0x20 || $0 == 0x09 } ?? bytes.endIndex
    return Word(text: String(decoding: bytes[start..<index], as: UTF8.self), position: position)
  }

  /// The next word of a step, or nil at its end, where a comment may begin.
  mutating func stepWord() -> Word? {
    let start = index
    guard let word = word(), !word.text.hasPrefix("#") else {
      index = start
      return nil
    }
    return word
  }

  /// What is left of the line, without spaces around it.
  var rest: String {
    let start = skipped(from: index)
    let end = bytes[start...].lastIndex { $0 != 0x20 && $0 != 0x09 }
    return end.map { String(decoding: bytes[start...$0], as: UTF8.self) } ?? ""
  }

  /// What is left of the line up to a comment.
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

  /// Throws unless the step ends here.
  mutating func end() throws(TranscriptError) {
    if let word = stepWord() { throw word.mistake("the end of the line") }
  }

  // MARK: - PDUs

  /// The octets of a PDU that is sent.
  mutating func octets() throws(TranscriptError) -> [UInt8] {
    var octets: [UInt8] = []
    while let word = stepWord() {
      let expected = "pairs of hexadecimal digits"
      guard let bytes = EncodedBytes.hexadecimal(word.text.utf8) else {
        let isWild = word.text == "??" || word.text == "..."
        throw word.mistake(isWild ? expected + ", for the client's PDUs are exact" : expected)
      }
      octets += bytes
      try check(octets.count, word)
    }
    return octets
  }

  /// The pattern of a PDU that is received.
  mutating func pattern() throws(TranscriptError) -> Transcript.Pattern {
    var pattern = Transcript.Pattern([])
    while let word = stepWord() {
      guard !pattern.isOpen else { throw word.mistake("nothing after ...") }
      switch word.text {
      case "...": pattern.isOpen = true
      case "??": pattern.octets.append(nil)
      default:
        guard let bytes = EncodedBytes.hexadecimal(word.text.utf8) else {
          throw word.mistake("pairs of hexadecimal digits, ?? or ...")
        }
        pattern.octets += bytes
      }
      try check(pattern.octets.count, word)
    }
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

  /// One word or more.
  mutating func words(_ expected: String) throws(TranscriptError) -> [String] {
    var words: [String] = []
    while let word = stepWord() { words.append(word.text) }
    guard !words.isEmpty else { throw missing(expected) }
    return words
  }

  mutating func duration() throws(TranscriptError) -> Duration {
    let expected = "a duration such as 30.1s or 200ms, at most a day"
    guard let word = stepWord() else { throw missing(expected) }
    guard let duration = TranscriptDuration.parse(word.text) else { throw word.mistake(expected) }
    return duration
  }

  mutating func security() throws(TranscriptError) -> LinkSecurity {
    let levels: [(String, SecurityLevel)] = [
      ("low", .low), ("medium", .medium), ("high", .high), ("fips", .fips),
    ]
    let names = levels.map { $0.0 }
    let expected = "one of " + names.joined(separator: ", ")
    guard let word = stepWord() else { throw missing(expected) }
    guard let level = levels.first(where: { $0.0 == word.text })?.1 else {
      var mistake = word.mistake(expected)
      mistake.found += NearestWord.hint(for: word.text, among: names)
      throw mistake
    }
    var security = LinkSecurity(level)
    guard let size = stepWord() else { return security }
    guard level != .low else { throw size.mistake("no key size on a link that is not encrypted") }
    guard let octets = UInt8(size.text), 7...16 ~= octets else {
      throw size.mistake("a key size from 7 to 16 octets")
    }
    security.keySize = octets
    return security
  }
}
