import Atto
import AttoCommandLine
import AttoEventLoop
import CAttoLinux

extension ProgressLine {
  /// Shows the progress of a measurement until the task is cancelled; nil if nothing is shown.
  package func follow(
    on loop: Loop, _ current: @escaping () -> Measurement
  ) -> Task<Void, any Error>? {
    guard isShown else { return nil }
    let line = LoopBound(self, loop)
    let current = LoopBound(current, loop)
    return Task(executorPreference: loop.tasks) {
      var before: (count: UInt64, time: Int64) = (0, 0)
      while true {
        try await loop.sleep(for: .milliseconds(250))
        let now = current.value()
        let time = clinux_monotonic()
        guard now.isMeasuring else {
          before = (0, 0)
          line.value.show("\(now.workload.name)  \(now.start == 0 ? "warming up" : "ending")")
          continue
        }
        if before.time == 0 { before.time = now.start }
        let rate = Double(now.count - before.count) * 1e9 / Double(max(1, time - before.time))
        before = (now.count, time)
        let seconds = Decimal.text(Double(time - now.start) / 1e9, places: 1)
        let limit =
          now.workload.time.map { " of \(Decimal.text($0 / .seconds(1), places: 1))" } ?? ""
        let count = "\(now.count)\(now.workload.count.map { " of \($0)" } ?? "")"
        line.value.show(
          "\(now.workload.name)  \(seconds)\(limit) s  \(count)"
            + "  \(Decimal.text(rate, places: rate < 100 ? 1 : 0))/s")
      }
    }
  }
}
