import ATT

/// Reads transcripts, line by line.
///
/// States: before the first heading only `profile` may stand; after a heading, `profile` once
/// and before any step; after `disconnect`, only what needs no link, or brings another, and the
/// next heading.
///
/// Limits: 4 MiB, 100,000 lines, 4,096 octets in a PDU, durations of a day.
struct TranscriptParser {
  static let lineLimit = 100_000
  static let octetLimit = 4096
  static let words = [
    "profile", "procedure", "result", "wait", "silence", "security", "database", "notify",
    "indicate", "bond", "client", "reconnect", "disconnect",
  ]

  /// What may happen while the link of a case is down.
  private static let afterTheEnd = ["result", "reconnect", "database", "client", "wait"]

  private var transcript = Transcript()
  private var names: [String: Int] = [:]
  /// Whether the link of the case is down after its steps so far.
  private var isDown = false

  static func parse(_ bytes: [UInt8]) throws(TranscriptError) -> Transcript {
    guard bytes.count <= FileBytes.limit else {
      throw TranscriptError(
        position: TextPosition(line: 1, column: 1),
        expected: "at most \(FileBytes.limit) bytes", found: "\(bytes.count)")
    }
    do throws(UTF8.ValidationError) {
      _ = try UTF8Span(validating: bytes.span)
    } catch {
      throw TranscriptError(
        position: TextPosition(of: error.byteOffsets.lowerBound, in: bytes),
        expected: "UTF-8 text",
        found: "the byte 0x" + EncodedBytes.hexadecimal(bytes[error.byteOffsets].prefix(1)))
    }
    var parser = TranscriptParser()
    var number = 0
    for line in bytes.split(separator: 0x0A, omittingEmptySubsequences: false) {
      number += 1
      guard number <= lineLimit else {
        throw TranscriptError(
          position: TextPosition(line: number, column: 1), expected: "at most \(lineLimit) lines",
          found: "one more")
      }
      try parser.take(try TranscriptLine(line, number: number))
    }
    return parser.transcript
  }

  // MARK: - Lines

  private mutating func take(_ line: TranscriptLine) throws(TranscriptError) {
    var line = line
    guard let first = line.word() else { return }
    switch first.text {
    case "##": return
    case "#": return try heading(line)
    case "profile": return try profile(line)
    default: break
    }
    let action: Transcript.Action
    switch first.text {
    case ">": action = .client(try line.octets())
    case "<": action = .server(try line.pattern())
    case "wait": action = .wait(try line.duration())
    case "silence": action = .silence(try line.duration())
    case "security": action = .security(try line.security())
    case "procedure": action = .procedure(try line.words("the name of a procedure"))
    case "result": action = .result(try line.words("what the client has got"))
    case "database": action = .database(try line.databaseChange())
    case "notify": action = .notify(try line.values())
    case "indicate": action = .indicate(try line.value())
    case "bond": action = .bond(key: try line.key())
    case "client": action = .turn(try line.client())
    case "reconnect": action = .reconnect
    case "disconnect": action = .disconnect
    default: throw unknown(first, line)
    }
    try line.end()
    guard let current = transcript.cases.indices.last else {
      throw first.mistake("a heading \"# NAME  title\" before the first step")
    }
    if isDown, !Self.afterTheEnd.contains(first.text) {
      throw first.mistake(
        "reconnect, database, client, wait, a result or a heading after disconnect")
    }
    switch action {
    case .disconnect: isDown = true
    case .reconnect, .turn: isDown = false
    default: break
    }
    transcript.cases[current].steps.append(Transcript.Step(action, line: line.number))
  }

  private func unknown(
    _ word: TranscriptLine.Word, _ line: TranscriptLine
  ) -> TranscriptError {
    if word.text.hasPrefix("#") {
      return word.mistake("a space between # and the name of a case, or ## for a comment")
    }
    if word.text.hasPrefix(">") || word.text.hasPrefix("<") {
      return word.mistake("a space between \(word.text.prefix(1)) and the octets")
    }
    var mistake = word.mistake("one of #, >, <, " + Self.words.joined(separator: ", "))
    mistake.found += NearestWord.hint(for: word.text, among: Self.words)
    return mistake
  }

  private mutating func heading(_ line: TranscriptLine) throws(TranscriptError) {
    var line = line
    guard let name = line.word() else { throw line.missing("the name of a case") }
    if let earlier = names.updateValue(line.number, forKey: name.text) {
      throw TranscriptError(
        position: name.position, expected: "each case once",
        found: "\(quoted(name.text)) again, first on line \(earlier)")
    }
    transcript.cases.append(Transcript.Case(name: name.text, title: line.rest))
    isDown = false
  }

  private mutating func profile(_ line: TranscriptLine) throws(TranscriptError) {
    let position = line.position
    let path = line.restWithoutComment
    guard !path.isEmpty else { throw line.missing("the path of a profile") }
    func second() -> TranscriptError {
      TranscriptError(position: position, expected: "one profile", found: "a second one")
    }
    guard let current = transcript.cases.indices.last else {
      guard transcript.profile == nil else { throw second() }
      transcript.profile = path
      return
    }
    guard transcript.cases[current].profile == nil else { throw second() }
    guard transcript.cases[current].steps.isEmpty else {
      throw TranscriptError(
        position: position, expected: "the profile before the case's first step",
        found: "it after line \(transcript.cases[current].steps.last?.line ?? 0)")
    }
    transcript.cases[current].profile = path
  }
}
