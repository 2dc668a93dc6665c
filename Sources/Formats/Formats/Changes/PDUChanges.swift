import AttoText

/// Rules by which a relay changes the PDUs that it passes on.
///
/// # Theory
/// A rule says which PDUs it is for, how often, and what happens to them:
///
///     DIRECTION PATTERN : [once | after N | every N] ACTION
///
/// For each PDU the first rule that matches and whose turn it is decides; without one the PDU is
/// passed on unchanged. Turns are counted for each client and each rule: every PDU that matches
/// counts, also one that an earlier rule has decided about.
///
/// # Limits
/// 4 MiB of text, ``ruleLimit`` rules, 4,096 octets in a pattern, ``repeatLimit`` copies, delays of a
/// day.
package struct PDUChanges: Sendable, Equatable {
  package static let ruleLimit = 1000
  package static let repeatLimit = 100

  package struct Rule: Sendable, Equatable {
    /// The line of the file.
    package let line: Int
    package let isFromClient: Bool
    package let pattern: Transcript.Pattern
    package let turns: Turns
    package let action: Action
  }

  /// Which of the PDUs that match.
  package enum Turns: Sendable, Equatable {
    case all
    case first
    /// All but the first ones.
    case after(Int)
    /// The Nth, the 2Nth and so on.
    case every(Int)
  }

  package enum Action: Sendable, Equatable {
    case drop
    case delay(Duration)
    /// `??` and `...` stand for the octets of the PDU itself.
    case replace(Transcript.Pattern)
    /// This many copies in place of one.
    case copies(Int)
    /// The sender gets this PDU, and the other side nothing.
    case answer([UInt8])
    /// The sender gets an Error Response for the request, and the other side nothing.
    case error(UInt8)
    /// The ATT_MTU of an Exchange MTU Request or Response is at most this.
    case mtu(UInt16)
  }

  package var rules: [Rule] = []

  package init() {}
}

extension PDUChanges {
  /// Reads a file of rules.
  ///
  /// - Throws: ``TranscriptError`` for the first mistake.
  package init(contentsOfFile path: String) throws(TranscriptError) {
    try self.init(text: try TranscriptError.octets(ofFile: path), file: path)
  }

  /// Reads rules from UTF-8 text.
  ///
  /// - Throws: ``TranscriptError`` for the first mistake.
  package init(text bytes: [UInt8], file: String? = nil) throws(TranscriptError) {
    try TranscriptError.naming(file ?? "changes") { () throws(TranscriptError) in
      try TranscriptLine.each(of: bytes) { line throws(TranscriptError) in
        guard let first = line.stepWord() else { return }
        let rules = try Self.rules(first, &line)
        guard self.rules.count + rules.count <= Self.ruleLimit else {
          throw TranscriptError(
            position: first.position, expected: "at most \(Self.ruleLimit) rules", found: "another")
        }
        self.rules += rules
      }
    }
  }

  private static func rules(
    _ first: TranscriptLine.Word, _ line: inout TranscriptLine
  ) throws(TranscriptError) -> [Rule] {
    if first.text == "mtu" {
      // Either of the two lowers it, and the other must not contradict.
      let mtu = try line.argument("an ATT_MTU from 0 to 65535", { UInt16($0) })
      try line.end()
      return [(0x02, true), (0x03, false), (0x02, false), (0x03, true)].map {
        opcode, isFromClient in
        Rule(
          line: line.number, isFromClient: isFromClient,
          pattern: Transcript.Pattern([opcode, nil, nil]), turns: .all, action: .mtu(mtu))
      }
    }
    guard first.text == ">" || first.text == "<" else { throw first.mistake("> or <, or mtu") }
    let pattern = try line.pattern(until: ":")
    let (turns, action) = try decision(&line)
    try line.end()
    return [
      Rule(
        line: line.number, isFromClient: first.text == ">", pattern: pattern, turns: turns,
        action: action)
    ]
  }

  private static func decision(
    _ line: inout TranscriptLine
  ) throws(TranscriptError) -> (Turns, Action) {
    var turns = Turns.all
    let actions = "drop, delay, replace, repeat, answer or error"
    guard var word = line.stepWord() else { throw line.missing(actions) }
    func count(_ line: inout TranscriptLine) throws(TranscriptError) -> Int {
      try line.argument("a number from 1 to 1000000") { text in
        Int(text).flatMap { 1...1_000_000 ~= $0 ? $0 : nil }
      }
    }
    switch word.text {
    case "once": turns = .first
    case "after": turns = .after(try count(&line))
    case "every": turns = .every(try count(&line))
    default: break
    }
    if turns != .all {
      guard let next = line.stepWord() else { throw line.missing(actions) }
      word = next
    }
    switch word.text {
    case "drop": return (turns, .drop)
    case "delay": return (turns, .delay(try line.duration()))
    case "replace": return (turns, .replace(try line.pattern()))
    case "repeat":
      let copies = try line.argument("a number from 2 to \(repeatLimit)") { text in
        Int(text).flatMap { 2...repeatLimit ~= $0 ? $0 : nil }
      }
      return (turns, .copies(copies))
    case "answer": return (turns, .answer(try line.octets()))
    case "error":
      let code = try line.argument("an error code such as 05 or 0x80") { text in
        UInt8(text.hasPrefix("0x") ? String(text.dropFirst(2)) : text, radix: 16)
      }
      return (turns, .error(code))
    default: throw word.mistake(actions)
    }
  }
}
