import AttoATT

/// A timer that calls a closure once. Used on the loop's thread. ``cancel()`` releases the
/// closure.
public final class LoopTimer: TimerHandler {
  private let loop: Loop
  private var timer: TimerID?
  private var body: (() -> Void)?

  /// Starts the timer.
  ///
  /// - Parameter delay: from now; at most 292 years.
  public init(after delay: Duration, on loop: Loop, _ body: @escaping () -> Void) {
    self.loop = loop
    self.body = body
    timer = loop.schedule(at: Self.moment(delay, after: loop.now), self)
  }

  public func timerFired(_ timer: TimerID) {
    self.timer = nil
    let body = body
    self.body = nil
    body?()
  }

  /// Ends the timer; the closure is not called.
  public func cancel() {
    if let timer { loop.cancel(timer) }
    timer = nil
    body = nil
  }

  /// The time after a delay; saturates.
  static func moment(_ delay: Duration, after now: Int64) -> Int64 {
    let nanoseconds = delay.inNanoseconds
    let (moment, isFar) = now.addingReportingOverflow(nanoseconds)
    return isFar ? (nanoseconds < 0 ? now : .max) : moment
  }
}
