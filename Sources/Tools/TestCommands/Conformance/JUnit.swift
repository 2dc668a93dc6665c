import Atto
import AttoCommandLine
import AttoConformance

/// The results of a run as JUnit XML, which most build servers read.
enum JUnit {
  static func document(_ reports: [CaseReport], suite: String) -> String {
    let broken = reports.count(where: \.isBroken)
    let skipped = reports.count { ["skipped", "not exercised"].contains($0.word) }
    return """
      <?xml version="1.0" encoding="UTF-8"?>
      <testsuite name="\(suite.escapedForMarkup)" tests="\(reports.count)" failures="\(broken)" \
      skipped="\(skipped)">
      \(reports.map(element).joined())</testsuite>

      """
  }

  private static func element(_ report: CaseReport) -> String {
    let folder = report.name.split(separator: "/").dropLast().joined(separator: ".")
    let start =
      "  <testcase classname=\"\(folder.escapedForMarkup)\" name=\"\(report.name.escapedForMarkup)\""
      + " time=\"\(Decimal.text(report.duration / .seconds(1), places: 3))\""
    switch report.outcome {
    case .passed where report.notes.isEmpty: return start + "/>\n"
    case .passed:
      let notes = report.notes.flatMap(\.lines).joined(separator: "\n").escapedForMarkup
      return start + ">\n    <system-out>\(notes)</system-out>\n  </testcase>\n"
    case .skipped(let why), .notExercised(let why):
      return start + ">\n    <skipped message=\"\(why.escapedForMarkup)\"/>\n  </testcase>\n"
    case .unreachable(let why):
      return start + ">\n    <failure message=\"\(why.escapedForMarkup)\"/>\n  </testcase>\n"
    case .broken(let finding):
      let lines = finding.lines + report.exchange.map(\.line)
      return start + ">\n    <failure message=\"\(finding.happened.escapedForMarkup)\">"
        + lines.joined(separator: "\n").escapedForMarkup + "</failure>\n  </testcase>\n"
    }
  }
}
