import Atto
import Conformance
import Files

/// Shows what has become of cases, as they end and at the end.
struct CaseOutput {
  let isJSON: Bool
  let junit: String?
  /// Whether the PDUs of cases that passed are shown, too.
  var showsAll = false
  private var reports: [CaseReport] = []

  /// - Throws: `UsageError` if the file of `--junit` cannot be written: before the work.
  init(_ arguments: Arguments) throws {
    isJSON = arguments.has("json")
    junit = arguments.value("junit")
    if let junit { try WrittenFile.check(junit) }
  }

  static let options = [
    OptionSpec("case", "PATTERN", "only cases with such names; * is any text; may be repeated"),
    OptionSpec("junit", "FILE", "write the results as JUnit's XML, too"),
  ]

  /// Whether a case's name is wanted.
  static func selection(_ arguments: Arguments) -> (String) -> Bool {
    let patterns = arguments.all("case").map(NamePattern.init)
    return { name in patterns.isEmpty || patterns.contains { $0.matches(name) } }
  }

  private struct Line: Encodable {
    struct PDU: Encodable {
      let direction: String
      let pdu: String
      let text: String
    }
    let `case`: String
    let title: String
    let outcome: String
    var reason: String?
    var rule: String?
    var section: String?
    var happened: String?
    var line: Int?
    var expected: String?
    var got: String?
    let seconds: Double
    let exchange: [PDU]
  }

  mutating func take(_ report: CaseReport) throws {
    reports.append(report)
    if isJSON { try json(report) } else { text(report) }
  }

  /// A peer that cannot be reached any more: nothing else can be played.
  func takeMissing(_ why: String) throws {
    Terminal.note("the peer cannot be reached, the run ends here: \(why)")
  }

  private func json(_ report: CaseReport) throws {
    let (seconds, attoseconds) = report.duration.components
    var line = Line(
      case: report.name, title: report.title, outcome: report.word,
      seconds: Double(seconds) + (Double(attoseconds) / 1e15).rounded() / 1e3,
      exchange: report.exchange.map {
        Line.PDU(
          direction: $0.isFromPeer ? "received" : "sent", pdu: Shown.hex($0.octets),
          text: $0.summary)
      })
    switch report.outcome {
    case .passed: break
    case .skipped(let why), .notExercised(let why), .unreachable(let why): line.reason = why
    case .broken(let finding):
      line.rule = finding.rule
      line.section = finding.section
      line.happened = finding.happened
      line.line = finding.line
      line.expected = finding.expected
      line.got = finding.got.map(Shown.hex)
    }
    try Terminal.print(json: line)
  }

  private func text(_ report: CaseReport) {
    let word = report.word + String(repeating: " ", count: max(1, 14 - report.word.count))
    Terminal.print(
      word + report.name + (report.title.isEmpty ? "" : "  " + report.title))
    switch report.outcome {
    case .passed: break
    case .skipped(let why), .notExercised(let why), .unreachable(let why):
      Terminal.print("    \(why)")
    case .broken(let finding):
      for line in finding.lines { Terminal.print("    \(line)") }
      // The end of a long exchange is where it broke.
      let shown = report.exchange.suffix(24)
      if shown.count < report.exchange.count {
        Terminal.print("    (\(report.exchange.count - shown.count) PDUs before these)")
      }
      for pdu in shown {
        Terminal.print(
          "    \(pdu.isFromPeer ? "<" : ">") \(EncodedText.hex(pdu.octets))  \(pdu.summary)")
      }
    }
  }

  /// Writes the file and the last line.
  ///
  /// - Throws: `CheckFailure` if a rule was broken.
  func finish(_ suite: String) throws {
    if let junit {
      let text = JUnit.document(reports, suite: suite)
      try WrittenFile.write(text, to: junit)
    }
    let words = ["passed", "broken", "skipped", "not exercised", "unreachable"]
    let counts = words.map { word in (word, reports.count { $0.word == word }) }
    let text = counts.filter { $0.1 > 0 || $0.0 == "passed" || $0.0 == "broken" }
      .map { "\($0.1) \($0.0)" }.joined(separator: ", ")
    if !isJSON { Terminal.print(text) }
    if case .unreachable(let why)? = reports.last?.outcome,
      reports.allSatisfy({ $0.word == "unreachable" })
    {
      throw Unreachable(message: "nothing was checked: \(why)")
    }
    let broken = reports.filter(\.isBroken)
    guard broken.isEmpty else {
      throw CheckFailure(message: "\(Shown.count(broken.count, "case")) fell short: \(text)")
    }
    guard !reports.isEmpty else {
      throw CheckFailure(message: "no case was chosen; see --list, or another --case")
    }
  }
}
