import AttoEventLoop

/// Bounds the lines that strangers cause in a log.
///
/// ``limit`` lines in ``window`` are logged. Further ones are counted, and the count is logged at the end of
/// the window.
///
/// Used on the loop's thread.
package final class LogQuota {
  /// The lines of a window.
  package static let limit = 20

  private let window: Duration
  private let loop: Loop
  private let what: String
  private let log: Hub.Logging
  private var lines = 0
  private var timer: LoopTimer?

  /// - Parameters:
  ///   - what: what is counted, as in "317 more `what` in the last 10 s".
  ///   - window: shorter in tests.
  package init(
    _ what: String, window: Duration = .seconds(10), on loop: Loop, log: @escaping Hub.Logging
  ) {
    self.what = what
    self.window = window
    self.loop = loop
    self.log = log
  }

  package func log(_ level: LogLevel, _ text: String) {
    if timer == nil {
      timer = LoopTimer(after: window, on: loop) { [weak self] in self?.flush() }
    }
    lines += 1
    if lines <= Self.limit { log(level, text) }
  }

  /// Logs the count of what was not logged, and begins a new window.
  package func flush() {
    timer?.cancel()
    timer = nil
    let more = lines - Self.limit
    lines = 0
    if more > 0 {
      log(.warning, "... \(more) more \(what) in the last \(window.components.seconds) s")
    }
  }
}
