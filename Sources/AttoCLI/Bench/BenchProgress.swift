import Atto
import CLinux
import Glibc

/// One line on a terminal's standard error, renewed while a test runs.
struct BenchProgress {
  private let isShown = isatty(STDERR_FILENO) == 1

  /// Shows how far a measurement is until the task is cancelled.
  func follow(_ measurement: LoopBound<Measurement>, on loop: Loop) -> Task<Void, any Error>? {
    guard isShown else { return nil }
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
        Terminal.progress("\(now.test.rawValue)  \(text)")
      }
    }
  }

  /// Clears the line.
  func clear() { if isShown { Terminal.progress("") } }
}
