import Synchronization

/// The time of a loop in a test. It begins at 0 and stands still until the test advances it.
///
/// # Theory
/// The loop never sleeps for a timer. It sleeps until work, a descriptor or ``Loop/advance(by:_:)``
/// wakes it. Time moves only in a turn that has found nothing else to do: no ready descriptor, no
/// work, no timer that is due. It then moves to the next timer, which fires in the same turn, or to
/// the end of the advance, if that is earlier. So each timer fires at its time, and what it causes
/// on the loop is done before the next one fires.
package final class VirtualTime: Sendable {
  /// Where time ends, after 146 years. Timers at `Int64.max` never fire.
  fileprivate static let end = Int64.max / 2
  private let nanoseconds = Atomic<Int64>(0)

  /// A time of 0.
  package init() {}

  /// Nanoseconds since the beginning.
  package var now: Int64 { nanoseconds.load(ordering: .acquiring) }

  /// Moves the time, but never back.
  fileprivate func move(to moment: Int64) {
    nanoseconds.store(max(now, moment), ordering: .releasing)
  }
}

extension Loop {
  /// Advances virtual time, to 146 years in all, and calls `done` when the timers that became due
  /// have fired and everything that waits on the loop is done. Advances that overlap end in the order
  /// of their ends. Traps off the loop's thread, in real time, and for a negative duration.
  package func advance(by duration: Duration, _ done: @escaping () -> Void) {
    requireCurrent()
    guard let virtualTime else { preconditionFailure("loop \(name) runs in real time") }
    precondition(duration >= .zero, "time does not go back")
    let end = min(LoopTimer.moment(duration, after: virtualTime.now), VirtualTime.end)
    advances.append((end, done))
  }

  /// How long the next poll of a loop without work may sleep.
  func timeout(in time: VirtualTime) -> Int64 {
    advances.isEmpty && time.now < timers.deadline ?? .max ? -1 : 0
  }

  /// Moves time after a poll that has found nothing.
  func step(_ time: VirtualTime) {
    guard local.isEmpty, ready.isEmpty, turnHandlers.isEmpty,
      signal.load(ordering: .relaxed) & Loop.filled == 0,
      let first = advances.indices.min(by: { advances[$0].end < advances[$1].end })
    else { return }
    let end = advances[first].end
    if let deadline = timers.deadline, deadline <= end { return time.move(to: deadline) }
    time.move(to: end)
    advances.remove(at: first).done()
  }
}
