import AttoATT
import AttoText

/// Parses transcripts line by line.
///
/// Before the first heading only `profile` is allowed. In a case, `profile` is allowed once, before
/// the first step. After `disconnect`, only steps without a link are allowed until the next heading.
///
/// Limits: 4 MiB, 100,000 lines, 4,096 octets in a PDU, durations of a day.
struct TranscriptParser {
  static let lineLimit = 100_000
  static let octetLimit = 4096
  static let words = [
    "profile", "procedure", "result", "wait", "silence", "security", "database", "notify",
    "indicate", "bond", "client", "bearers", "close", "reconnect", "disconnect",
  ]

  /// The steps allowed while the case has no link.
  private static let stepsWithoutLink = ["result", "reconnect", "database", "client", "wait"]

  private var transcript = Transcript()
  private var names: [String: Int] = [:]
  /// Whether the case has no link after its steps so far.
  private var isDown = false
  /// The enhanced bearers of each client of the case.
  private var bearers: [Int: TranscriptBearers] = [:]
  private var client = 1

  static func parse(_ bytes: [UInt8]) throws(TranscriptError) -> Transcript {
    var parser = TranscriptParser()
    try TranscriptLine.each(of: bytes) { line throws(TranscriptError) in try parser.parse(line) }
    return parser.transcript
  }

  // MARK: - Lines

  private mutating func parse(_ line: TranscriptLine) throws(TranscriptError) {
    var line = line
    guard let first = line.word() else { return }
    switch first.text {
    case "##": return
    case "#": return try heading(line)
    case "profile": return try profile(line)
    default: break
    }
    let action: Transcript.Action
    let (word, bearer) = try arrow(first)
    switch word {
    case ">": action = .client(try line.octets())
    case "<": action = .server(try line.pattern())
    case "wait": action = .wait(try line.duration())
    case "silence": action = .silence(try line.duration())
    case "security": action = .security(try line.security())
    case "procedure": action = .procedure(try line.words("the name of a procedure"))
    case "result": action = .result(try line.words("the result of a procedure"))
    case "database": action = .database(try line.databaseChange())
    case "notify": action = .notify(try line.values())
    case "indicate": action = .indicate(try line.value())
    case "bond": action = .bond(key: try line.key())
    case "client": action = .turn(try line.client())
    case "bearers": action = try line.bearers()
    case "close":
      let open = bearers[client, default: TranscriptBearers()]
      action = .close(
        bearer: try line.argument(open.expected, { Int($0).flatMap { open.has($0) ? $0 : nil } }))
    case "reconnect": action = .reconnect
    case "disconnect": action = .disconnect
    default: throw unknown(first, line)
    }
    try line.end()
    guard let current = transcript.cases.indices.last else {
      throw first.mistake("a heading \"# NAME  title\" before the first step")
    }
    if isDown, !Self.stepsWithoutLink.contains(first.text) {
      throw first.mistake(
        "reconnect, database, client, wait, result or a heading after disconnect")
    }
    switch action {
    case .disconnect:
      isDown = true
      bearers[client] = nil
    case .reconnect:
      isDown = false
      bearers[client] = nil
    case .turn(let number):
      isDown = false
      client = number
    case .bearers(let count, _):
      guard bearers[client, default: TranscriptBearers()].open(count) else {
        throw first.mistake("at most \(TranscriptBearers.limit) enhanced bearers on a link")
      }
    case .close(let number): bearers[client]?.close(number)
    default: break
    }
    transcript.cases[current].steps.append(
      Transcript.Step(action, bearer: bearer, line: line.number))
  }

  /// The arrow of a PDU and the number of its bearer, which must be open; any other word as it is.
  private func arrow(
    _ word: TranscriptLine.Word
  ) throws(TranscriptError) -> (word: String, bearer: Int) {
    let arrow = String(word.text.prefix(1))
    let digits = word.text.dropFirst()
    guard arrow == ">" || arrow == "<", 1...3 ~= digits.utf8.count, !digits.hasPrefix("0"),
      digits.utf8.allSatisfy({ 0x30...0x39 ~= $0 }), let bearer = Int(digits)
    else { return (word.text, 0) }
    let open = bearers[client, default: TranscriptBearers()]
    guard open.has(bearer) else {
      throw word.mistake("\(open.expected), or a space between \(arrow) and the octets")
    }
    return (arrow, bearer)
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
    bearers = [:]
    client = 1
  }

  private mutating func profile(_ line: TranscriptLine) throws(TranscriptError) {
    let position = line.position
    let path = line.restWithoutComment
    guard !path.isEmpty else { throw line.missing("the path of a profile") }
    func second() -> TranscriptError {
      TranscriptError(position: position, expected: "one profile", found: "another")
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
        found: "a profile after line \(transcript.cases[current].steps.last?.line ?? 0)")
    }
    transcript.cases[current].profile = path
  }
}

/// The enhanced bearers of a client, as far as the parser has read.
struct TranscriptBearers {
  /// The most that a link may have one after another.
  static let limit = 255

  private var numbers: [Int] = []
  private var last = 0

  func has(_ number: Int) -> Bool { numbers.contains(number) }

  /// For messages about a number that no open bearer has.
  var expected: String {
    numbers.isEmpty
      ? "a line \"bearers N\" that opens enhanced bearers"
      : "the number of an open bearer (" + numbers.map { "\($0)" }.joined(separator: ", ") + ")"
  }

  mutating func open(_ count: Int) -> Bool {
    guard last + count <= Self.limit else { return false }
    numbers += last + 1...last + count
    last += count
    return true
  }

  mutating func close(_ number: Int) { numbers.removeAll { $0 == number } }
}
