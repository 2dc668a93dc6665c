#if DEBUG
  import CAttoLinux
  import Glibc
  import Synchronization

  /// Reports handlers that keep a loop from others, in debug builds.
  ///
  /// # Theory
  /// The time of each handler and of each turn is measured. The kernel counts how long a thread was
  /// ready and had no processor (/proc/thread-self/schedstat). What remains, the time in which the
  /// thread computed or was blocked, may be ``limit``. The count is read at the beginning of a turn if
  /// the last one is older than ``sampling``, so a report may be that much too lenient. Without the
  /// count nothing is reported.
  package struct LoopWatchdog {
    /// Whether nothing is reported: the programs of Atto are used in debug builds too.
    package static let isSilent = Atomic(false)
    /// Nanoseconds that a turn may take.
    static let limit: Int64 = 50_000_000
    static let sampling: Int64 = 10_000_000
    /// Reports of one loop.
    static let reportLimit = 20

    /// The time, and the nanoseconds for which the thread had no processor, or negative. Others in
    /// tests.
    var time: () -> Int64 = clinux_monotonic
    var delay: () -> Int64 = clinux_run_delay
    var report: (String) -> Void = { line in
      let octets = Array(Self.line(line, of: CommandLine.arguments.first).utf8)
      _ = write(STDERR_FILENO, octets, octets.count)
    }
    private var reports = 0
    private var turn: Int64 = 0
    private var mark: Int64 = 0
    private var sampled: (at: Int64, delay: Int64)?
    /// The delay before the turn and before the handler; too early by up to ``sampling``.
    private var turnDelay: Int64 = -1
    private var markDelay: Int64 = -1

    /// A report with the name of its program, since several programs may share a terminal.
    static func line(_ text: String, of path: String?) -> String {
      let name = path?.split(separator: "/").last.map { $0 + ": " }
      return (name ?? "") + text + "\n"
    }

    mutating func turnBegins() {
      turn = time()
      mark = turn
      let base: Int64
      if let sampled, turn - sampled.at <= Self.sampling {
        base = sampled.delay
      } else {
        base = delay()
        sampled = (turn, base)
      }
      (turnDelay, markDelay) = (base, base)
    }

    /// Something that began at the last call has ended.
    mutating func ended(_ loop: String, _ kind: () -> String) {
      let now = time()
      if now - mark > Self.limit {
        let current = delay()
        if judge(now - mark, current, since: markDelay, loop, kind) {
          (turn, turnDelay) = (now, current)
        }
        markDelay = current
      }
      mark = now
    }

    /// The turn has ended. What one handler of it took was reported before.
    mutating func turnEnds(_ loop: String) {
      let now = time()
      guard now - turn > Self.limit else { return }
      _ = judge(now - turn, delay(), since: turnDelay, loop) { "a turn of many handlers" }
    }

    private mutating func judge(
      _ length: Int64, _ delay: Int64, since before: Int64, _ loop: String, _ kind: () -> String
    ) -> Bool {
      guard before >= 0, delay >= 0, !Self.isSilent.load(ordering: .relaxed) else { return false }
      let busy = length - (delay - before)
      guard busy > Self.limit, reports < Self.reportLimit else { return false }
      reports += 1
      report("event loop \(loop) was blocked for \(busy / 1_000_000) ms by \(kind())")
      return true
    }
  }
#endif

extension Loop {
  /// Notes that a handler has returned. Does nothing in a release build.
  @inline(__always) func ended(_ kind: @autoclosure () -> String) {
    #if DEBUG
      watchdog.ended(name, kind)
    #endif
  }
}
