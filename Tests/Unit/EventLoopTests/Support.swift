import CAttoLinux
import Glibc
import Synchronization
import Testing

@testable import AttoEventLoop

/// A Unix socket pair, closed when it is released.
final class Pair: Sendable {
  let a: Int32
  let b: Int32

  init() throws {
    var ends: [Int32] = [-1, -1]
    try #require(clinux_seqpacket_pair(&ends) == 0)
    (a, b) = (ends[0], ends[1])
  }

  deinit {
    close(a)
    close(b)
  }

  func send(_ count: Int = 1, to end: Int32) {
    let bytes = [UInt8](repeating: 7, count: count)
    #expect(clinux_send(end, bytes, count) == count)
  }

  /// Receives until it would block. Returns the number of PDUs.
  static func drain(_ descriptor: Int32) -> Int {
    var bytes = [UInt8](repeating: 0, count: 64)
    var count = 0
    while clinux_receive(descriptor, &bytes, 64) > 0 { count += 1 }
    return count
  }
}

/// Handlers that call a closure.
final class OnReady: ReadinessHandler {
  var body: (Readiness) -> Void
  init(_ body: @escaping (Readiness) -> Void = { _ in }) { self.body = body }
  func ready(_ readiness: Readiness) { body(readiness) }
}

final class OnTimer: TimerHandler {
  var body: (TimerID) -> Void
  init(_ body: @escaping (TimerID) -> Void) { self.body = body }
  func timerFired(_ timer: TimerID) { body(timer) }
}

/// A value that only the loop's thread touches. `@unchecked Sendable`: the tests see to it.
final class Box<Value>: @unchecked Sendable {
  var value: Value
  init(_ value: Value) { self.value = value }
}

extension Loop {
  /// Runs the loop on the calling thread: `setUp` first, on the loop, until `stop()` or, as a
  /// failure, until so many seconds have passed.
  func run(
    seconds: Int64 = 60, _ setUp: @escaping @Sendable () throws -> Void
  ) throws -> Bool {
    let inTime = Box(true)
    let failure = Box<(any Error)?>(nil)
    execute {
      let guardian = OnTimer { _ in
        inTime.value = false
        self.stop()
      }
      self.schedule(at: self.now + seconds * 1_000_000_000, guardian)
      do {
        try setUp()
      } catch {
        failure.value = error
        self.stop()
      }
    }
    run()
    // Handlers hold the loop, and the loop holds them.
    watches = WatchTable()
    timers = TimerHeap()
    if let error = failure.value { throw error }
    return inTime.value
  }
}

/// Polls until `condition` is true or a deadline has passed.
func eventually(seconds: Int64 = 60, _ condition: () -> Bool) -> Bool {
  let deadline = clinux_monotonic() + seconds * 1_000_000_000
  while !condition() {
    guard clinux_monotonic() < deadline else { return false }
    sched_yield()
  }
  return true
}
