import Atto
import AttoEventLoop

/// A clock that a test moves, and the loop that it drives: servers and connections on that loop live
/// in virtual time. Their timeouts and ``AttoEventLoop/Loop/sleep(for:)`` end when the test advances the clock, and
/// take no time.
///
/// ```swift
/// let clock = TestClock()
/// let server = LocalServer(loop: clock.loop)
/// let connection = try await Connection.pair(server: server)
/// await clock.advance(by: .seconds(30))
/// ```
///
/// Work of tasks counts as work of the loop if they run on it:
/// `Task(executorPreference: clock.loop.tasks) { ... }`. Such a task has started when the next
/// ``advance(by:)`` moves time, and has gone as far as it can when that returns. The clock knows
/// nothing about tasks that run elsewhere, nor about peers on other loops or in other processes.
///
/// The loop runs on a thread of its own and stops when the clock is released. Keep the clock longer
/// than the servers and connections on its loop: declare it first.
public final class TestClock: Sendable {
  /// The loop. Give it to the servers, connections and adapters of the test.
  public let loop: Loop
  private let time = VirtualTime()

  /// A clock at 0, with a running loop. Traps if the process has no descriptor or no thread left.
  public init() {
    do {
      loop = try Loop(name: "test", virtualTime: time)
      try loop.start()
    } catch {
      fatalError("cannot start the loop of a test: \(error)")
    }
  }

  deinit { loop.stop() }

  /// The time that has passed: the sum of all advances, at most 146 years.
  public var now: Duration { .nanoseconds(time.now) }

  /// Advances the clock. Returns when the timers that became due have fired, each at its time, and
  /// everything that they caused on the loop is done.
  ///
  /// By `.zero` it waits until the loop has nothing left to do, and no time passes. If the caller's
  /// task is cancelled, it returns early, and the clock is advanced nevertheless. It does not return
  /// while timers without a pause follow each other. Traps for a negative duration.
  public func advance(by duration: Duration) async {
    let loop = loop
    let _: Void? = try? await loop.withWaiter { (waiter: Waiter<Void, AttoError>) in
      loop.advance(by: duration) { waiter.resume(.success(())) }
    }
  }
}
