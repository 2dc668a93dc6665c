import CAttoLinux
import Synchronization

/// Running.
extension Loop {
  /// Runs the loop on a thread of its own, which has the loop's name and leaves signals to other
  /// threads. The thread holds the loop until ``stop()``.
  ///
  /// Throws ``LoopError`` if the thread cannot be created. Traps if the loop runs already.
  public func start() throws(LoopError) {
    // The thread takes this reference over.
    let context = Unmanaged.passRetained(self)
    let result = clinux_thread_start(
      { context in
        let loop = Unmanaged<Loop>.fromOpaque(context!).takeRetainedValue()
        clinux_thread_name(loop.name)
        loop.run()
        return nil
      }, context.toOpaque(), 0)
    guard result == 0 else {
      context.release()
      throw LoopError(.startThread, errno: -result)
    }
  }

  /// Runs the loop on the calling thread until ``stop()``. Traps if the loop runs already.
  public func run() {
    drive { stopped }
    stopped = false
  }

  /// Makes ``run()`` return after the work that was added before. If the loop does not run, its
  /// next ``run()`` returns at once. Work that is left stays until the loop runs again.
  /// Traps for ``shared``.
  public func stop() {
    precondition(stoppable, "the shared loop cannot be stopped")
    execute { self.stopped = true }
  }

  /// Runs an async body in a task that prefers this loop, and runs the loop on the calling thread
  /// until the body has ended: the entry of a command into concurrency.
  ///
  /// Throws what the body throws. Traps if the loop runs already. ``stop()`` does not end it.
  public func runBlocking<R: Sendable, E: Error>(
    _ body: @escaping @Sendable () async throws(E) -> R
  ) throws(E) -> R {
    let outcome = Outcome<R, E>()
    Task(executorPreference: self.tasks) {
      let result: Result<R, E>
      do throws(E) {
        result = .success(try await body())
      } catch {
        result = .failure(error)
      }
      self.execute {
        outcome.result = result
        outcome.isThere = true
      }
    }
    drive { outcome.isThere }
    stopped = false
    return try outcome.result!.get()
  }

  /// Turns until `ended`.
  private func drive(until ended: () -> Bool) {
    let (taken, _) = owner.compareExchange(
      expected: 0, desired: clinux_thread(), ordering: .acquiringAndReleasing)
    precondition(taken, "loop \(name) runs already")
    clockIsFresh = false
    while !ended() {
      let count = poll()
      #if DEBUG
        watchdog.turnBegins()
      #endif
      deliver(count)
      emptyInbox()
      runWork()
      fireTimers()
      endTurn()
      #if DEBUG
        watchdog.turnEnds(name)
      #endif
    }
    owner.store(0, ordering: .releasing)
  }

  /// Polls the descriptors, and sleeps if there is nothing else to do. Returns how many of `events`
  /// the kernel has filled.
  private func poll() -> Int32 {
    var timeout = timeoutOfPoll()
    if timeout != 0 {
      let (sleeping, _) = signal.compareExchange(
        expected: 0, desired: Loop.asleep, ordering: .acquiringAndReleasing)
      if !sleeping { timeout = 0 }
    }
    timeBeforePoll = clock
    // EINTR is the only error that a valid epoll instance has.
    let count = clinux_epoll_wait(epoll, events, Loop.eventsPerPoll, timeout, &exact)
    if timeout != 0 { signal.bitwiseAnd(~Loop.asleep, ordering: .acquiringAndReleasing) }
    clockIsFresh = false
    if count == 0, let virtualTime { step(virtualTime) }
    return max(0, count)
  }

  /// How long the next poll may sleep, in nanoseconds; negative for no limit.
  private func timeoutOfPoll() -> Int64 {
    guard local.isEmpty, ready.isEmpty, turnHandlers.isEmpty, !stopped else { return 0 }
    if let virtualTime { return timeout(in: virtualTime) }
    guard let deadline = timers.deadline, !isLeftToAlarm(deadline) else { return -1 }
    // The clock was read for the timers just now.
    let (left, overflow) = deadline.subtractingReportingOverflow(now)
    return overflow ? (deadline < 0 ? 0 : .max) : max(0, left)
  }
}

/// The result of a body, on its way from its task to the caller.
///
/// `@unchecked Sendable`: written and read only by the thread that runs the loop.
private final class Outcome<R: Sendable, E: Error>: @unchecked Sendable {
  var result: Result<R, E>?
  /// Checked in every turn. Checking the generic result itself costs the runtime some hundred
  /// instructions.
  @exclusivity(unchecked) var isThere = false
}
