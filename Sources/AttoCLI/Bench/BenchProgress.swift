import Atto
import CLinux

/// Says on the line of progress how far a test has come.
struct BenchProgress {
  private let line: ProgressLine

  init(_ line: ProgressLine) { self.line = line }

  /// Shows how far a measurement is until the task is cancelled.
  func follow(_ measurement: LoopBound<Measurement>, on loop: Loop) -> Task<Void, any Error>? {
    guard line.isShown else { return nil }
    let line = LoopBound(line, loop)
    return Task(executorPreference: loop.tasks) {
      var before: UInt64 = 0
      while true {
        try await loop.sleep(for: .milliseconds(250))
        let now = measurement.value
        let seconds = now.start > 0 ? Double(clinux_monotonic() - now.start) / 1e9 : 0
        let text =
          seconds == 0
          ? "warming up"
          : "\(Decimal.text(seconds, places: 1)) s  \(now.count)  \((now.count - before) * 4)/s"
        before = now.count
        line.value.show("\(now.test.rawValue)  \(text)")
      }
    }
  }

  /// Clears the line.
  func clear() { line.clear() }
}
