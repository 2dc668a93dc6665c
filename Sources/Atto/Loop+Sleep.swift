import ATT
import EventLoop

extension Loop {
  /// Waits on the loop's own clock.
  ///
  /// - Throws: `cancelled` if the caller's task is cancelled first.
  public func sleep(for duration: Duration) async throws(AttoError) {
    try await complete { (completion: Completion<Void>) in
      let alarm = Alarm(completion)
      let moment = Instant(nanoseconds: self.now) + duration
      let timer = self.schedule(at: moment.nanoseconds, alarm)
      completion.whenCancelled = { self.cancel(timer) }
    }
  }
}

private final class Alarm: TimerHandler {
  private let completion: Completion<Void>
  init(_ completion: Completion<Void>) { self.completion = completion }
  func timerFired(_ id: TimerID) { completion.resume(.success(())) }
}
