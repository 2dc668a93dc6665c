import AttoCommandLine
import AttoLinkTiming

/// What `--fail-under`, `--fail-on-loss` and `--fail-over-p99` require of each result, and the results
/// that fail.
package struct BenchChecks: Sendable {
  private static let failUnder = Option.value(
    "fail-under", "N", "Exit with status 4 if a test reaches less than N per second.",
    expected: "a rate per second, such as 1000"
  ) { text in Double(text).flatMap { $0 >= 0 ? $0 : nil } }
  private static let failOnLoss = Option.integer(
    "fail-on-loss", "N", in: 0...1_000_000_000,
    "Exit with status 4 if a test loses more than N values, or if its losses are unknown.")
  private static let failOverP99 = Option.value(
    "fail-over-p99", "TIME",
    "Exit with status 4 if the 99th percentile of a test's latencies exceeds a time such as 40ms.",
    expected: "a time such as 40ms or 800us, more than 0"
  ) { text in LinkParameters.nanoseconds(text).flatMap { $0 > 0 ? $0 : nil } }

  package static let options: [any CommandOption] = [failUnder, failOnLoss, failOverP99]

  /// The tests that fail one check. A command may have any number of runs: the first are named.
  private struct Failed: Sendable {
    static let limit = 20
    private var texts: [String] = []
    private var others = 0

    mutating func add(_ text: String) {
      if texts.count < Self.limit { texts.append(text) } else { others += 1 }
    }

    func message(_ fault: String) -> String? {
      guard !texts.isEmpty else { return nil }
      let more = others > 0 ? ["and \(others) more"] : []
      return "\(fault): \((texts + more).joined(separator: ", "))"
    }
  }

  private let leastRate: Double?
  private let mostLost: UInt64?
  /// Nanoseconds.
  private let longestP99: Int64?
  private var slow = Failed()
  private var losing = Failed()
  private var unknown = Failed()
  private var late = Failed()
  private var empty = Failed()

  package init(_ arguments: Arguments) {
    leastRate = arguments[Self.failUnder]
    mostLost = arguments[Self.failOnLoss].map { UInt64($0) }
    longestP99 = arguments[Self.failOverP99]
  }

  /// Checks a result, when it is known: not all results are kept.
  package mutating func check(_ result: BenchResult) {
    let name = result.heading
    if let mostLost {
      if let lost = result.lost {
        if lost > mostLost { losing.add("\(name) \(lost)") }
      } else {
        unknown.add(name)
      }
    }
    // A single received value has no latency.
    guard result.count > 0, longestP99 == nil || result.latencyHistogram?.isEmpty == false else {
      return empty.add(name)
    }
    if let leastRate, result.rate < leastRate {
      slow.add("\(name) \(Decimal.text(result.rate, places: 1))/s")
    }
    let p99 = Int64(result.latencyMicroseconds.p99 * 1000)
    if let longestP99, p99 > longestP99 { late.add("\(name) \(BenchLimit.milliseconds(p99))") }
  }

  /// All that failed, and what could not be checked.
  package var failure: CheckFailure? {
    guard leastRate != nil || mostLost != nil || longestP99 != nil else { return nil }
    let messages = [
      slow.message("rate below \(Decimal.text(leastRate ?? 0, places: 1))/s"),
      losing.message("more than \(Shown.count(Int(mostLost ?? 0), "value")) lost"),
      late.message("p99 over \(BenchLimit.milliseconds(longestP99 ?? 0))"),
      unknown.message("losses are unknown"), empty.message("nothing was measured"),
    ].compactMap(\.self)
    guard !messages.isEmpty else { return nil }
    let hint =
      unknown.message("") == nil
      ? nil : "losses are known with atto serve Fixtures/bench.json as the peer, or with --scenario"
    return CheckFailure(message: messages.joined(separator: "; "), hint: hint)
  }
}
