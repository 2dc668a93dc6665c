import CAttoLinux
import TestSupport
import Testing

@testable import AttoEventLoop

@Suite("Timers", .timeLimit(.minutes(5)), .oneByOne)
struct TimerTests {
  @Test("Timers fire in the order of their deadlines, equal ones as scheduled, none early")
  func order() throws {
    let loop = try Loop(name: "order")
    let fired = Box<[Int]>([])
    let early = Box(0)
    let inTime = try loop.run {
      let start = loop.now
      // 0.1 ms apart, scheduled backwards, each deadline twice.
      for number in stride(from: 19, through: 0, by: -1) {
        let deadline = start + Int64(number) * 100_000
        for twin in 0..<2 {
          loop.schedule(
            at: deadline,
            OnTimer { _ in
              if loop.refreshNow() < deadline { early.value += 1 }
              fired.value.append(number * 2 + twin)
              if fired.value.count == 40 { loop.stop() }
            })
        }
      }
    }
    #expect(inTime)
    #expect(fired.value == Array(0..<40))
    #expect(early.value == 0)
  }

  @Test("A wait of 300 us does not take a millisecond")
  func subMillisecond() throws {
    let loop = try Loop(name: "exact")
    let best = Box(Int64.max)
    let rounds = Box(0)
    let inTime = try loop.run {
      @Sendable func round() {
        let deadline = loop.refreshNow() + 300_000
        loop.schedule(
          at: deadline,
          OnTimer { _ in
            best.value = min(best.value, loop.refreshNow() - deadline)
            rounds.value += 1
            rounds.value == 50 ? loop.stop() : round()
          })
      }
      round()
    }
    #expect(inTime)
    if loop.exact != 0 { #expect(best.value < 500_000, "late by \(best.value) ns at best") }
  }

  @Test("Without epoll_pwait2 waits are rounded up and never early")
  func fallback() throws {
    let loop = try Loop(name: "fallback")
    loop.exact = 0
    let late = Box(Int64.min)
    let inTime = try loop.run {
      let deadline = loop.now + 300_000
      loop.schedule(
        at: deadline,
        OnTimer { _ in
          late.value = loop.refreshNow() - deadline
          loop.stop()
        })
    }
    #expect(inTime)
    #expect(late.value >= 0)
  }

  @Test("What has arrived while the loop was stopped goes before the timers that are due since")
  func overdue() throws {
    let loop = try Loop(name: "overdue")
    let (first, second) = (try Pair(), try Pair())
    let seen = Box<[String]>([])
    let inTime = try loop.run {
      let deadline = loop.now + 1_000_000
      // Overdue before the first one reads the clock, as if the process had been stopped.
      _ = try loop.watch(
        first.b, trigger: .level,
        OnReady { _ in
          _ = Pair.drain(first.b)
          second.send(to: second.a)
          while clinux_monotonic() < deadline + 2 * Loop.overdueTime {}
        })
      _ = try loop.watch(
        second.b, trigger: .level,
        OnReady { _ in
          _ = Pair.drain(second.b)
          seen.value.append("what has arrived")
        })
      loop.schedule(
        at: deadline,
        OnTimer { _ in
          seen.value.append("the timer")
          loop.stop()
        })
      first.send(to: first.a)
    }
    #expect(inTime)
    #expect(seen.value == ["what has arrived", "the timer"])
  }

  @Test("A cancelled timer does not fire, not even if due in the same turn")
  func cancel() throws {
    let loop = try Loop(name: "cancel")
    let fired = Box<[String]>([])
    let inTime = try loop.run {
      let second = Box<TimerID?>(nil)
      loop.schedule(
        at: 1,
        OnTimer { own in
          fired.value.append("first")
          #expect(loop.cancel(second.value!))
          #expect(!loop.cancel(second.value!))
          #expect(!loop.cancel(own))
          // The slot is reused; the old ID does not name the new timer.
          loop.schedule(
            at: 3,
            OnTimer { _ in
              fired.value.append("third")
              loop.stop()
            })
          #expect(!loop.cancel(second.value!))
        })
      second.value = loop.schedule(at: 2, OnTimer { _ in fired.value.append("second") })
    }
    #expect(inTime)
    #expect(fired.value == ["first", "third"])
  }

  @Test("Timers in the past that schedule each other do not block the loop")
  func past() throws {
    let loop = try Loop(name: "past")
    let turns = Box(0)
    let inTime = try loop.run {
      @Sendable func again() {
        turns.value += 1
        loop.schedule(at: .min, OnTimer { _ in again() })
        if turns.value == 100 { loop.stop() }
      }
      again()
    }
    #expect(inTime)
    #expect(turns.value >= 100)
  }

  @Test("The farthest deadlines do not overflow")
  func extremes() throws {
    let loop = try Loop(name: "extremes")
    let inTime = try loop.run {
      loop.schedule(at: .max, OnTimer { _ in Issue.record("fired at the end of time") })
      loop.schedule(at: .min, OnTimer { _ in loop.stop() })
    }
    #expect(inTime)
  }

  @Test("The heap agrees with a sorted list", arguments: [1, 2, 3, 4, 5] as [UInt64])
  func heap(seed: UInt64) {
    var state = seed
    func random(_ bound: Int) -> Int {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int(state >> 33) % bound
    }
    var heap = TimerHeap()
    var expected: [(deadline: Int64, sequence: Int, id: TimerID)] = []
    let handler = OnTimer { _ in }
    for sequence in 0..<5000 {
      let deadline = Int64(random(500))
      expected.append((deadline, sequence, heap.schedule(at: deadline, handler)))
      if random(3) == 0, !expected.isEmpty {
        let gone = expected.remove(at: random(expected.count))
        let cancelled = (heap.cancel(gone.id), heap.cancel(gone.id))
        #expect(cancelled == (true, false), "seed \(seed)")
      }
      if random(4) == 0, let first = expected.min(by: { ($0.0, $0.1) < ($1.0, $1.1) }) {
        #expect(heap.deadline == first.deadline)
        let taken = heap.dequeueDue(at: first.deadline, before: .max)
        #expect(taken?.id == first.id, "seed \(seed)")
        expected.removeAll { $0.id == first.id }
      }
    }
    expected.sort { ($0.0, $0.1) < ($1.0, $1.1) }
    for entry in expected {
      let taken = heap.dequeueDue(at: .max, before: .max)
      #expect(taken?.id == entry.id, "seed \(seed)")
    }
    #expect(heap.isEmpty)
  }
}
