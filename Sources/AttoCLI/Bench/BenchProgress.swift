import Atto
import CLinux

/// Says on the line of progress how far a test has come.
struct BenchProgress {
  private let line: ProgressLine

  init(_ line: ProgressLine) { self.line = line }

  /// Shows how far a measurement is, and of how much, until the task is cancelled.
  func follow(
    _ measurement: LoopBound<Measurement>, _ plan: BenchPlan, on loop: Loop
  ) -> Task<Void, any Error>? {
    guard line.isShown else { return nil }
    let line = LoopBound(line, loop)
    return Task(executorPreference: loop.tasks) {
      var before: (count: UInt64, time: Int64) = (0, 0)
      while true {
        try await loop.sleep(for: .milliseconds(250))
        let now = measurement.value
        let time = clinux_monotonic()
        guard now.isMeasuring else {
          line.value.show("\(now.test.rawValue)  \(now.start == 0 ? "warming up" : "ending")")
          continue
        }
        if before.time == 0 { before.time = now.start }
        let rate = Double(now.count - before.count) * 1e9 / Double(max(1, time - before.time))
        before = (now.count, time)
        let text = Self.text(now.count, time - now.start, of: plan)
        line.value.show(
          "\(now.test.rawValue)  \(text)  \(Decimal.text(rate, places: rate < 100 ? 1 : 0))/s")
      }
    }
  }

  private static func text(_ count: UInt64, _ elapsed: Int64, of plan: BenchPlan) -> String {
    let seconds = Decimal.text(Double(elapsed) / 1e9, places: 1)
    let time = plan.time.map {
      " of \(Decimal.text(Double($0.nanoseconds) / 1e9, places: 1))"
    }
    return "\(seconds)\(time ?? "") s  \(count)\(plan.count.map { " of \($0)" } ?? "")"
  }

  /// Clears the line.
  func clear() { line.clear() }
}
