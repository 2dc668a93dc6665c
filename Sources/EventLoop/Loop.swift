import CLinux
import Synchronization

/// One thread that waits for descriptors, moments and work, and is an executor of Swift's
/// concurrency: for actors, and by ``tasks`` as the preference of tasks.
///
/// # Theory
/// A loop owns one epoll instance and one eventfd. It turns: each turn
/// 1. polls, and sleeps in the poll if nothing is to be done before the earliest timer;
/// 2. delivers what descriptors are ready for;
/// 3. runs work, at most ``workPerTurn`` pieces, so that busy tasks cannot starve descriptors;
/// 4. fires the timers that are due, except those scheduled by a timer of the same turn;
/// 5. tells those who wanted to know that the turn ends.
///
/// Work that comes from the loop's own thread goes to a queue that only this thread touches: no
/// lock, no system call. Work from another thread goes to the inbox, under a lock; the first
/// piece raises `signal`, and writes the eventfd only if the loop sleeps or is about to. The
/// eventfd is watched edge-triggered and so is never read.
///
///         | loop finds inbox empty     other thread posts
///   0     | -> asleep                  -> filled
///   asleep| wakes: -> 0                -> asleep|filled, and the eventfd is written
///   filled| empties the inbox: -> 0    stays
///
/// Descriptors are registered once, edge-triggered, for both directions: there is no system
/// call for each PDU but those that carry it. Timers live in a heap. If the earliest deadline is
/// near, it bounds the poll. One that is far away, as those of ATT's transactions are, is left to
/// an alarm: a timerfd, set once and not for each poll, so that a sleep whose end is not a matter of
/// time costs the kernel no timer, and a turn no look at the clock. An alarm that rings for a timer
/// which is no more is an empty turn.
///
/// # Threads
/// `enqueue`, `execute`, `stop`, `isCurrent` may be called from any thread. All else belongs to
/// the loop's thread and traps elsewhere; go there with ``execute(_:)`` first.
///
/// # Limits
/// 256 events a poll and ``workPerTurn`` pieces of work a turn; what is left over waits for the
/// next turn. The queues of work grow to what the process has waiting and are never given back.
///
/// A loop must outlive the actors and tasks that run on it, since their executor references are
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
  /// The tokens of the eventfd and the timerfd; no watch has them, since slots do not go that far.
  static let wakeUpToken = UInt64.max
  static let alarmToken = UInt64.max - 1
  static let firstOwnToken = alarmToken

  /// The loop that is used where nobody names one: it runs on a thread of its own, from its
  /// first use until the process ends, and cannot be stopped. Traps if the process has neither
  /// a descriptor nor a thread left for it.
  public static let shared: Loop = {
    do {
      let loop = try Loop(name: "atto", stoppable: false)
      try loop.start()
      return loop
    } catch {
      fatalError("The shared event loop cannot be had: \(error)")
    }
  }()

  /// What the loop's thread is called, as far as 15 bytes go.
  public let name: String
  let stoppable: Bool
  /// What tasks prefer that shall run here.
  public var tasks: LoopTasks { taskExecutor! }
  /// Set once, by `init`; its reference back is why it cannot be a constant.
  private var taskExecutor: LoopTasks?
  let epoll: Int32
  let wakeUp: Int32
  /// The timerfd; -1 until it is first wanted, and if none can be had.
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
  /// Watches with something to be told, for this turn or the next.
  @exclusivity(unchecked) var ready: [WatchID] = []
  @exclusivity(unchecked) var delivering: [WatchID] = []
  @exclusivity(unchecked) var timers = TimerHeap()
  /// How far away a deadline is, in nanoseconds, for which the alarm is set rather than the poll
  /// bounded. Less in tests.
  @exclusivity(unchecked) var farAway: Int64 = 1_000_000_000
  /// When the alarm rings; `max` if it is not set.
  @exclusivity(unchecked) var alarmTime = Int64.max
  /// Who is told of the end of this turn, and those who are being told.
  @exclusivity(unchecked) var turnHandlers: [any TurnHandler] = []
  @exclusivity(unchecked) var endingHandlers: [any TurnHandler] = []
  @exclusivity(unchecked) var clock: Int64 = 0
  @exclusivity(unchecked) var clockIsFresh = false
  @exclusivity(unchecked) var stopped = false
  /// Whether the kernel has epoll_pwait2.
  @exclusivity(unchecked) var exact: Int32 = 1
  /// Filled by epoll_wait and read in the same turn; allocated once, freed by `deinit`.
  let events: UnsafeMutablePointer<epoll_event>

  /// Makes a loop that does not run yet.
  ///
  /// Throws ``LoopError`` if the process or the machine has no descriptor left.
  public convenience init(name: String) throws(LoopError) {
    try self.init(name: name, stoppable: true)
  }

  init(name: String, stoppable: Bool) throws(LoopError) {
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
    self.epoll = epoll
    self.wakeUp = wakeUp
    events = .allocate(capacity: Int(Loop.eventsPerPoll))
    taskExecutor = LoopTasks(self)
  }

  deinit {
    // Nobody can be inside: a running loop is held by the one who runs it.
    events.deallocate()
    _ = close(epoll)
    _ = close(wakeUp)
    if alarm >= 0 { _ = close(alarm) }
  }

  /// Whether the calling thread is the one that runs this loop.
  public var isCurrent: Bool {
    // Relaxed: a thread only asks for its own number, which it stored itself.
    owner.load(ordering: .relaxed) == clinux_thread()
  }

  /// Traps unless the calling thread runs this loop.
  func requireCurrent(_ function: StaticString = #function) {
    precondition(isCurrent, "\(function) was called off the thread of loop \(name)")
  }
}
