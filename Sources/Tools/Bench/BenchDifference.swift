import AttoCommandLine

/// The difference of one figure between two runs.
package struct BenchDifference: Sendable {
  /// The figure and its unit.
  let name: String
  let before: Double
  let now: Double
  /// Whether more of it is better, as it is for rates.
  let isMoreBetter: Bool
  var places = 1

  /// The run with the better figure. Less than 1 % is no difference: percentiles are not more accurate.
  var better: String {
    if abs(now - before) <= 0.01 * max(now, before) { return "same" }
    return (now > before) == isMoreBetter ? "now" : "before"
  }

  package static let head = ["", "before", "now", "change", "change %", "better"]

  package var cells: [String] {
    func signed(_ value: Double, _ places: Int) -> String {
      (value > 0 ? "+" : "") + Decimal.text(value, places: places)
    }
    return [
      name, Decimal.text(before, places: places), Decimal.text(now, places: places),
      signed(now - before, places), before > 0 ? signed((now / before - 1) * 100, 1) : "-", better,
    ]
  }
}

/// A result and the earlier one of the same test.
package typealias BenchRun = (result: BenchResult, before: BenchResult?)

extension BenchResult {
  /// The title of the table of differences.
  package var comparisonTitle: String {
    "\(title): compared with before" + (compared?.unlike.map { " (before: \($0))" } ?? "")
  }

  /// The differences from an earlier run, for figures that both runs have.
  package func differences(from earlier: BenchResult) -> [BenchDifference] {
    let (was, now) = (earlier.latencyMicroseconds, latencyMicroseconds)
    func less(_ name: String, _ before: Double, _ now: Double, places: Int = 1) -> BenchDifference {
      BenchDifference(name: name, before: before, now: now, isMoreBetter: false, places: places)
    }
    var rows = [
      BenchDifference(name: "rate/s", before: earlier.rate, now: rate, isMoreBetter: true)
    ]
    if size > 0, earlier.size > 0 {
      rows.append(
        BenchDifference(
          name: "B/s", before: earlier.bytesPerSecond, now: bytesPerSecond, isMoreBetter: true,
          places: 0))
    }
    rows += [
      less("p50 us", was.p50, now.p50), less("p90 us", was.p90, now.p90),
      less("p99 us", was.p99, now.p99), less("max us", was.max, now.max),
      less("jitter us", earlier.jitterMicroseconds, jitterMicroseconds),
    ]
    if let before = earlier.cpuMicrosecondsPerPDU, let now = cpuMicrosecondsPerPDU {
      rows.append(less("CPU us/PDU", before, now, places: 2))
    }
    if let before = earlier.cpuMicrosecondsPerOperation, let now = cpuMicrosecondsPerOperation {
      rows.append(less("CPU us/operation", before, now, places: 2))
    }
    if let before = earlier.lost, let now = lost {
      rows.append(less("lost", Double(before), Double(now), places: 0))
    }
    return rows
  }
}
