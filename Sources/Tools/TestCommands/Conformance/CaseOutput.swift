import Atto
import AttoCommandLine
import AttoConformance
import AttoFormats

/// The results of cases: each one as it ends, and the totals. Used on the loop's thread only.
final class CaseOutput {
  private static let cases = casesOption(.other)
  private static let junit = Option.file("junit", "FILE", "Write the results as JUnit XML too.")
  static let list = Option.flag("list", "Print the names of the cases and end.")

  private static func casesOption(_ names: ValueKind) -> Option<[String]> {
    .texts(
      "case", "PATTERN", "Run only the cases that match; * matches any text.", kind: names)
  }

  /// - Parameter names: those of the cases, for completion.
  static func options(_ names: ValueKind = .other) -> [any CommandOption] {
    [casesOption(names), list, junit]
  }

  private let isJSON: Bool
  private let junit: String?
  private var reports: [CaseReport] = []

  /// Throws if the file of `--junit` cannot be written.
  init(_ arguments: Arguments) throws {
    isJSON = arguments[CommonOptions.json]
    junit = arguments[Self.junit]
    if let junit { try WrittenFile.check(junit) }
  }

  /// Whether `--case` selects a name.
  ///
  /// - Parameter names: those of all cases.
  /// - Throws: `UsageError` for a pattern that matches none.
  static func selection(
    _ arguments: Arguments, among names: [String]
  ) throws(UsageError) -> (String) -> Bool {
    let texts = arguments[cases]
    let patterns = texts.map(NamePattern.init)
    for (text, pattern) in zip(texts, patterns) where !names.contains(where: pattern.matches) {
      throw UsageError(
        "no case matches --case \(text)", hint: "--list prints the names of the cases")
    }
    return { name in patterns.isEmpty || patterns.contains { $0.matches(name) } }
  }

  /// Prints the names of cases, for `--list`.
  static func list(
    _ cases: some Sequence<(name: String, title: String, writes: Bool?)>, _ results: Results
  ) {
    for (name, title, writes) in cases {
      results.print(
        name + "  " + title + (writes == true ? " (writes)" : ""),
        json: ["case": name, "title": title, "writes": writes])
    }
  }

  func show(_ report: CaseReport) {
    reports.append(report)
    if isJSON { Terminal.print(json: json(report)) } else { text(report) }
  }

  private func json(_ report: CaseReport) -> JSONObject {
    [
      "case": report.name, "title": report.title, "outcome": report.word,
      "reason": report.reason, "rule": report.finding?.rule, "section": report.finding?.section,
      "happened": report.finding?.happened, "line": report.finding?.line,
      "expected": report.finding?.expected, "got": report.finding?.got.map(Shown.hex),
      "seconds": (Double(report.duration.inNanoseconds) / 1e6).rounded() / 1e3,
      "exchange": report.exchange.map { pdu -> JSONObject in
        [
          "direction": pdu.isFromPeer ? "received" : "sent", "pdu": Shown.hex(pdu.octets),
          "text": pdu.summary, "bearer": pdu.bearer == 0 ? nil : pdu.bearer,
        ]
      },
      "notes": report.notes.isEmpty
        ? nil
        : report.notes.map { note -> JSONObject in
          [
            "happened": note.happened, "rule": note.rule, "section": note.section,
            "expected": note.expected, "got": note.got.map(Shown.hex),
          ]
        },
    ]
  }

  private func text(_ report: CaseReport) {
    Terminal.print(
      report.word.padded(to: 14) + report.name + (report.title.isEmpty ? "" : "  " + report.title))
    if let reason = report.reason { Terminal.print("    \(reason)") }
    for note in report.notes {
      for (index, line) in note.lines.enumerated() {
        Terminal.print("    " + (index == 0 ? "note: " : "      ") + line)
      }
    }
    guard let finding = report.finding else { return }
    for line in finding.lines { Terminal.print("    \(line)") }
    // The fault is at the end of the exchange.
    let shown = report.exchange.suffix(24)
    if shown.count < report.exchange.count {
      Terminal.print("    (\(report.exchange.count - shown.count) earlier PDUs)")
    }
    for pdu in shown { Terminal.print("    \(pdu.line)") }
  }

  /// Writes the file of `--junit` for a run that has ended early: the other cases are skipped.
  ///
  /// - Parameter cases: all cases of the run.
  /// - Throws: if the file cannot be written.
  func interrupted(_ suite: String, cases: some Sequence<(name: String, title: String)>) throws {
    let done = Set(reports.map(\.name))
    for (name, title) in cases where !done.contains(name) {
      reports.append(
        CaseReport(name: name, title: title, outcome: .skipped("the run ended before this case")))
    }
    _ = showTotals()
    try writeFile(suite)
  }

  /// Prints how many cases ended in which way. Returns it as text.
  private func showTotals() -> String {
    let words = ["passed", "broken", "skipped", "not exercised", "unreachable"]
    let counts = words.map { word in (word, reports.count { $0.word == word }) }
    let text = counts.filter { $0.1 > 0 || $0.0 == "passed" || $0.0 == "broken" }
      .map { "\($0.1) \($0.0)" }.joined(separator: ", ")
    if isJSON {
      let fields = counts.map { ($0.0 == "not exercised" ? "notExercised" : $0.0, $0.1) }
      Terminal.print(json: ["summary": JSONObject(fields)])
    } else {
      Terminal.print(text)
    }
    return text
  }

  private func writeFile(_ suite: String) throws {
    guard let junit else { return }
    try WrittenFile.write(JUnit.document(reports, suite: suite), to: junit)
  }

  /// Writes the file and the totals.
  ///
  /// - Parameter preparation: the name of the case that all others need and that checks only their means,
  ///   if others were selected.
  /// - Throws: `CheckFailure` if a case failed, or if nothing was checked.
  func finish(_ suite: String, preparation: String? = nil) throws {
    try writeFile(suite)
    let text = showTotals()
    if case .unreachable(let why)? = reports.last?.outcome,
      reports.allSatisfy({ $0.word == "unreachable" })
    {
      throw Unreachable(message: "no case was run: \(why)")
    }
    let broken = reports.filter(\.isBroken)
    guard broken.isEmpty else {
      throw CheckFailure(message: "\(Shown.count(broken.count, "case")) failed: \(text)")
    }
    guard reports.contains(where: { $0.outcome == .passed && $0.name != preparation }) else {
      throw CheckFailure(message: "nothing was checked: \(text)")
    }
  }
}

extension CaseReport {
  /// The violation of a broken case.
  var finding: Finding? { if case .broken(let finding) = outcome { finding } else { nil } }

  /// Why the case did not run to its end, other than a violation.
  fileprivate var reason: String? {
    switch outcome {
    case .passed, .broken: nil
    case .skipped(let why), .notExercised(let why), .unreachable(let why): why
    }
  }
}

extension ExchangedPDU {
  var line: String {
    "\(isFromPeer ? "<" : ">")\(bearer == 0 ? "" : "\(bearer)")"
      + " \(EncodedText.hex(octets))  \(summary)"
  }
}
