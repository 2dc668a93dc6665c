import CLinux
import Synchronization

/// The loop as an executor: any thread may hand it work.
extension Loop {
  /// Takes a step of an actor. Called by the concurrency runtime.
  public func enqueue(_ job: consuming ExecutorJob) {
    add(.job(UnownedJob(job)))
  }

  /// Runs `body` on the loop's thread in one of its next turns. Bodies handed over by one
  /// thread run in the order in which they were handed over.
  ///
  /// No limit: whoever can flood a loop is part of the same process.
  public func execute(_ body: @escaping @Sendable () -> Void) {
    add(.body(body))
  }

  /// Resumes a task, once, behind all the work that waits now. Allocates nothing, unlike
  /// ``execute(_:)`` and `Task.yield()`.
  public func resume(inTurn waiter: UnsafeContinuation<Void, Never>) {
    add(.waiter(waiter))
  }

  /// Lets `assumeIsolated` succeed anywhere on the loop's thread, in handlers too, for any actor
  /// that has this loop as its executor.
  public func checkIsolated() {
    precondition(isCurrent, "not on the thread of loop \(name)")
  }

  /// Whether the caller runs where actors of this loop run.
  public func isIsolatingCurrentContext() -> Bool? { isCurrent }

  func add(_ work: consuming Work) {
    if isCurrent {
      local.append(work)
      return
    }
    inbox.append(work)
    let before = signal.bitwiseOr(Loop.filled, ordering: .acquiringAndReleasing).oldValue
    if before == Loop.asleep { clinux_eventfd_signal(wakeUp) }
  }

  /// Moves the inbox to the queue of the loop's thread.
  func emptyInbox() {
    guard signal.load(ordering: .relaxed) & Loop.filled != 0 else { return }
    // Lowered first: what is posted after this line raises it again, and what was posted before
    // is found under the lock.
    signal.bitwiseAnd(~Loop.filled, ordering: .acquiringAndReleasing)
    inbox.exchange(with: &spare)
    for work in spare { local.append(work) }
    spare.removeAll(keepingCapacity: true)
  }

  /// Runs what waits, at most ``workPerTurn`` pieces.
  func runWork() {
    var left = Loop.workPerTurn
    while left > 0, !local.isEmpty {
      left &-= 1
      switch local.removeFirst() {
      case .job(let job):
        job.runSynchronously(on: asUnownedSerialExecutor())
      case .task(let job): job.runSynchronously(on: tasks.asUnownedTaskExecutor())
      case .body(let body): body()
      case .waiter(let waiter): waiter.resume()
      case .none: break
      }
    }
  }
}
