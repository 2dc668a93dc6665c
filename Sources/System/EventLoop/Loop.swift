import CAttoLinux
import Synchronization

/// An event loop on one thread: it waits for descriptors, timers and work. It is an executor for
/// actors, and its ``tasks`` are the preferred executor of tasks.
///
/// # Theory
/// A loop owns one epoll instance and one eventfd. Each turn
/// 1. polls, and sleeps in the poll if there is nothing to do before the earliest timer;
/// 2. reports to the handlers of descriptors that are ready;
/// 3. runs work, at most ``workPerTurn`` pieces, so that busy tasks cannot starve descriptors;
/// 4. fires the timers that are due, except those scheduled by a timer of the same turn, and those that
///    are overdue by 100 ms and more, which let the descriptors of another poll go first;
/// 5. resumes tasks that have yielded, and calls the handlers of the turn's end.
///
/// Work from the loop's own thread goes to a queue that only this thread touches: no lock and no
/// system call. Work from another thread goes to the inbox, under a lock; the first piece raises
/// `signal`, and writes the eventfd only if the loop sleeps or is about to. The eventfd is watched
/// edge-triggered and therefore never read.
///
///         | loop finds inbox empty     other thread posts
///   0     | -> asleep                  -> filled
///   asleep| wakes: -> 0                -> asleep|filled, and the eventfd is written
///   filled| empties the inbox: -> 0    stays
///
/// By default a descriptor is watched edge-triggered: it is registered once for both directions, so
/// that the only system calls for a PDU are those that carry it. A level-triggered watch
/// (``Trigger``) saves the receive that finds nothing, but is changed to wait for room.
///
/// Timers are in a heap. If the earliest deadline is near, it bounds the poll. A distant one, such
/// as that of an ATT transaction, is left to an alarm: a timerfd that is set once, not for each
/// poll. Then most polls cost the kernel no timer, and most turns do not read the clock. An alarm
/// for a timer that was cancelled causes an empty turn.
///
/// A debug build reports handlers that keep the loop from others: `LoopWatchdog`.
///
/// A test can give a loop a `VirtualTime`, which is then the time of its timers.
///
/// # Threads
/// `enqueue`, `execute`, `stop` and `isCurrent` may be called from any thread. All other functions
/// belong to the loop's thread and trap elsewhere; get there with ``execute(_:)``.
///
/// # Limits
/// 256 events for each poll and ``workPerTurn`` pieces of work for each turn; the rest waits for
/// the next turn. The queues of work grow as needed and never shrink.
///
/// A loop must outlive the actors and tasks that run on it, because their executor references are
/// unowned. A running loop keeps itself alive.
///
/// `@unchecked Sendable`: the atomics and the inbox carry their own protection; every other
/// stored property is touched only by the thread that `owner` names, which each entry point
/// checks, and that thread changes only while the loop does not run (`owner` is released with
/// release ordering and taken with acquire ordering).
public final class Loop: SerialExecutor, @unchecked Sendable {
  /// Pieces of work in one turn, before descriptors are polled again.
  public static let workPerTurn = 256
  static let eventsPerPoll: Int32 = 256
  /// How late a timer is, in nanoseconds, if something has stopped the loop.
  static let overdueTime: Int64 = 100_000_000
  /// The tokens of the eventfd and the timerfd. Watches have lower ones.
  static let wakeUpToken = UInt64.max
  static let alarmToken = UInt64.max - 1
  static let firstOwnToken = alarmToken

  /// The default loop. It runs on a thread of its own from its first use until the process ends,
  /// and cannot be stopped. Traps if the process has no descriptor or no thread left.
  public static let shared: Loop = {
    do {
      let loop = try Loop(name: "atto", stoppable: false)
      try loop.start()
      return loop
    } catch {
      fatalError("cannot start the shared event loop: \(error)")
    }
  }()

  /// The name of the loop's thread, of which the kernel shows 15 bytes.
  public let name: String
  let stoppable: Bool
  /// The time of a loop in a test; nil: CLOCK_MONOTONIC.
  package let virtualTime: VirtualTime?
  /// The executor for tasks that should run on this loop.
  public var tasks: LoopTasks { taskExecutor! }
  /// Set once, by `init`. It refers to this loop, so it cannot be a constant.
  private var taskExecutor: LoopTasks?
  let epoll: Int32
  let wakeUp: Int32
  /// The timerfd; -1 until it is first needed, and if it cannot be created.
  @exclusivity(unchecked) var alarm: Int32 = -1

  // Shared between threads.
  /// The thread that runs the loop, 0 while none does.
  let owner = Atomic<UInt>(0)
  let signal = Atomic<UInt8>(0)
  static let asleep: UInt8 = 1
  static let filled: UInt8 = 2
  let inbox = Inbox()

  // The loop's thread only.
  @exclusivity(unchecked) var local = WorkQueue()
  /// Takes the inbox's place when it is emptied, so that neither is allocated again.
  @exclusivity(unchecked) var spare: [Work] = []
  @exclusivity(unchecked) var watches = WatchTable()
  /// Watches with a report to deliver, in this turn or the next.
  @exclusivity(unchecked) var ready: [WatchID] = []
  @exclusivity(unchecked) var delivering: [WatchID] = []
  @exclusivity(unchecked) var timers = TimerHeap()
  /// From how far away, in nanoseconds, a deadline is left to the alarm. Less in tests.
  @exclusivity(unchecked) var farAway: Int64 = 1_000_000_000
  /// When the alarm rings; `max` if it is not set.
  @exclusivity(unchecked) var alarmTime = Int64.max
  /// Tasks that have yielded until the end of this turn.
  @exclusivity(unchecked) var resting: [UnsafeContinuation<Void, Never>] = []
  /// Handlers to be called at the end of this turn, and those being called.
  @exclusivity(unchecked) var turnHandlers: [any TurnHandler] = []
  @exclusivity(unchecked) var endingHandlers: [any TurnHandler] = []
  @exclusivity(unchecked) var clock: Int64 = 0
  @exclusivity(unchecked) var clockIsFresh = false
  /// A time before the last poll.
  @exclusivity(unchecked) var timeBeforePoll: Int64 = 0
  @exclusivity(unchecked) var stopped = false
  /// Calls of ``advance(by:_:)`` that have not ended.
  @exclusivity(unchecked) var advances: [(end: Int64, done: () -> Void)] = []
  /// Whether the kernel has epoll_pwait2.
  @exclusivity(unchecked) var exact: Int32 = 1
  #if DEBUG
    @exclusivity(unchecked) var watchdog = LoopWatchdog()
  #endif
  /// Filled by epoll_wait and read in the same turn; allocated once, freed by `deinit`.
  let events: UnsafeMutablePointer<epoll_event>

  /// Creates a loop that does not run yet.
  ///
  /// Throws ``LoopError`` if the process or the machine has no descriptor left.
  public convenience init(name: String) throws(LoopError) {
    try self.init(name: name, stoppable: true)
  }

  /// Creates a loop in virtual time, which stands still until ``advance(by:_:)`` moves it.
  ///
  /// Throws ``LoopError`` if the process or the machine has no descriptor left.
  package convenience init(name: String, virtualTime: VirtualTime) throws(LoopError) {
    try self.init(name: name, stoppable: true, virtualTime: virtualTime)
  }

  init(name: String, stoppable: Bool, virtualTime: VirtualTime? = nil) throws(LoopError) {
    let epoll = clinux_epoll_create()
    guard epoll >= 0 else { throw LoopError(.createPoll, errno: -epoll) }
    let wakeUp = clinux_eventfd()
    guard wakeUp >= 0 else {
      _ = close(epoll)
      throw LoopError(.createWakeUp, errno: -wakeUp)
    }
    let result = clinux_epoll_add(
      epoll, wakeUp, CLINUX_EPOLLIN | CLINUX_EPOLLET, Loop.wakeUpToken)
    guard result == 0 else {
      _ = close(epoll)
      _ = close(wakeUp)
      throw LoopError(.watch(descriptor: wakeUp), errno: -result)
    }
    self.name = name
    self.stoppable = stoppable
    self.virtualTime = virtualTime
    self.epoll = epoll
    self.wakeUp = wakeUp
    events = .allocate(capacity: Int(Loop.eventsPerPoll))
    taskExecutor = LoopTasks(self)
  }

  deinit {
    // The loop does not run now: a running loop is held by its thread.
    events.deallocate()
    _ = close(epoll)
    _ = close(wakeUp)
    if alarm >= 0 { _ = close(alarm) }
  }

  /// Whether the calling thread is the one that runs this loop.
  public var isCurrent: Bool {
    // Relaxed: a thread only compares its own number, which it stored itself.
    owner.load(ordering: .relaxed) == clinux_thread()
  }

  func requireCurrent(_ function: StaticString = #function) {
    if !isCurrent { refuse(function) }
  }

  /// Ends the process with a message, in optimised programs too.
  @usableFromInline @inline(never) func refuse(_ function: StaticString) -> Never {
    fatalError(
      """
      \(function) was used off the thread of the event loop "\(name)". Use its asynchronous form, or \
      call it within loop.execute { }.
      """)
  }
}
