import Atto

/// `atto doctor`: what stands in the way on this machine, and how to mend it.
enum DoctorCommand: Command {
  static let name = "doctor"
  static let examples = [
    "atto doctor"
  ]
  static let summary = "What stands in the way of the radio here, and how to mend it."
  static let usage = "[OPTIONS]"
  static let notes =
    "One line for each check, with a mark:\n"
    + "  ok       nothing stands in the way there\n"
    + "  warn     it works, but not as well as it could, or somebody may interfere\n"
    + "  problem  something that atto does will fail because of it\n"
    + "Ends with 0 if there is no problem, and with 4 if there is one."
  static let options = [
    OptionSpec("json", nil, "one JSON object per check on standard output")
  ]

  private struct Line: Encodable {
    var check: String
    var adapter: String?
    var mark: String
    var text: String
    var remedy: String?
  }

  static func run(_ arguments: Arguments, on loop: Loop) async throws {
    try arguments.allow(words: 0)
    let diagnosis = await Diagnosis.examine(loop: loop)
    let width = Diagnosis.names.map(\.count).max() ?? 0
    for check in diagnosis.checks {
      if arguments.has("json") {
        try Terminal.print(
          json: Line(
            check: check.name, adapter: check.adapter, mark: check.mark.rawValue,
            text: check.text, remedy: check.remedy))
      } else {
        Terminal.print(
          padded(check.mark.rawValue, 9) + padded(check.name, width + 2)
            + (check.adapter.map { "\($0): " } ?? "") + check.text
            + (check.remedy.map { ". Mend: \($0)" } ?? ""))
      }
    }
    let count = diagnosis.checks.count { $0.mark == .problem }
    guard count == 0 else {
      throw CheckFailure(message: Shown.count(count, "problem") + ", see above")
    }
  }

  private static func padded(_ word: String, _ width: Int) -> String {
    word + String(repeating: " ", count: max(1, width - word.count))
  }
}
