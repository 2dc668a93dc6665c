import CAttoLinux
import Synchronization

/// The loop as an executor. Any thread may give it work.
extension Loop {
  /// Accepts a step of an actor. Called by the concurrency runtime.
  public func enqueue(_ job: consuming ExecutorJob) {
    add(.job(UnownedJob(job)))
  }

  /// Runs `body` on the loop's thread in one of its next turns. Bodies from one thread run in the
  /// order of the calls.
  ///
  /// There is no limit, because only code of the same process can flood a loop.
  public func execute(_ body: @escaping @Sendable () -> Void) {
    add(.body(body))
  }

  /// Runs `body` on the loop's thread: at once if this is it, otherwise in one of its next turns.
  public func inline(_ body: @escaping @Sendable () -> Void) {
    if isCurrent { body() } else { execute(body) }
  }

  /// Lets the loop finish its turn, and report what its descriptors are ready for, before the caller's
  /// task goes on. `Task.yield()` lets only other work run, many times in a turn, and allocates.
  public nonisolated(nonsending) func yield() async {
    await withUnsafeContinuation { add(.waiter($0)) }
  }

  /// Lets `assumeIsolated` succeed on the loop's thread, in handlers too, for actors that have this
  /// loop as their executor.
  public func checkIsolated() {
    precondition(isCurrent, "not on the thread of loop \(name)")
  }

  /// Whether the caller runs on the loop's thread.
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
    // Lowered first: work posted after this line raises it again, and work posted before is found
    // under the lock.
    signal.bitwiseAnd(~Loop.filled, ordering: .acquiringAndReleasing)
    inbox.exchange(with: &spare)
    for work in spare { local.append(work) }
    spare.removeAll(keepingCapacity: true)
  }

  /// Runs the waiting work, at most ``workPerTurn`` pieces.
  func runWork() {
    var left = Loop.workPerTurn
    while left > 0, !local.isEmpty {
      left &-= 1
      switch local.removeFirst() {
      case .job(let job):
        job.runSynchronously(on: asUnownedSerialExecutor())
      case .task(let job): job.runSynchronously(on: tasks.asUnownedTaskExecutor())
      case .body(let body): body()
      case .waiter(let waiter): resting.append(waiter)
      case .none: break
      }
      ended("a task, an actor or a closure")
    }
  }
}
