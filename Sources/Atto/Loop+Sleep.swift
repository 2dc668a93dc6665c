import ATT
import EventLoop

extension Loop {
  /// Waits on the loop's own clock.
  ///
  /// - Throws: `cancelled` if the caller's task is cancelled first.
  public func sleep(for duration: Duration) async throws(AttoError) {
    try await complete { (completion: Completion<Void>) in
      let timer = OnceTimer(after: duration, on: self) { completion.resume(.success(())) }
      completion.whenCancelled = { timer.cancel() }
    }
  }
}

/// A timer that calls a closure, once. The loop's thread only.
final class OnceTimer: TimerHandler {
  private let loop: Loop
  private var timer: TimerID?
  private var body: (() -> Void)?

  init(after delay: Duration, on loop: Loop, _ body: @escaping () -> Void) {
    self.loop = loop
    self.body = body
    let moment = Instant(nanoseconds: loop.now) + delay
    timer = loop.schedule(at: moment.nanoseconds, self)
  }

  func timerFired(_ id: TimerID) {
    let body = body
    timer = nil
    self.body = nil
    body?()
  }

  /// The closure will not be called, and is let go.
  func cancel() {
    if let timer { loop.cancel(timer) }
    timer = nil
    body = nil
  }
}
