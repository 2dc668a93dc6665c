import CAttoLinux
import TestSupport
import Testing

@testable import AttoEventLoop

/// Distant deadlines, which are left to the kernel's alarm. The tests lower the limit so that they
/// need not wait.
@Suite("The alarm", .timeLimit(.minutes(5)), .oneByOne)
struct AlarmTests {
  @Test("The alarm fires timers in the order of their deadlines, none early")
  func order() throws {
    let loop = try Loop(name: "alarm")
    loop.farAway = 1
    let fired = Box<[Int]>([])
    let early = Box(0)
    let inTime = try loop.run {
      let start = loop.now + 1_000_000
      for number in [4, 1, 3, 0, 2] {
        let deadline = start + Int64(number) * 500_000
        loop.schedule(
          at: deadline,
          OnTimer { _ in
            if loop.refreshNow() < deadline { early.value += 1 }
            fired.value.append(number)
            if fired.value.count == 5 { loop.stop() }
          })
      }
    }
    #expect(inTime)
    #expect(fired.value == [0, 1, 2, 3, 4])
    #expect(early.value == 0)
    #expect(loop.alarm >= 0)
  }

  @Test("It is set once, for the earliest deadline, and then no turn reads the clock")
  func setOnce() throws {
    let loop = try Loop(name: "once")
    let pair = try Pair()
    let clocks = Box<[Int64]>([])
    let alarms = Box<[Int64]>([])
    let inTime = try loop.run(seconds: 3600) {
      let half = loop.now + 1_800_000_000_000
      pair.send(to: pair.a)
      // Each turn receives what the one before has sent.
      _ = try? loop.watch(
        pair.b, trigger: .level,
        OnReady { _ in
          _ = Pair.drain(pair.b)
          clocks.value.append(loop.clock)
          alarms.value.append(loop.alarmTime)
          switch clocks.value.count {
          case 10:
            loop.schedule(at: half, OnTimer { _ in Issue.record("fired half an hour early") })
          case 20: loop.stop()
          default: break
          }
          pair.send(to: pair.a)
        })
    }
    #expect(inTime)
    #expect(clocks.value.count >= 20)
    #expect(Set(clocks.value.dropFirst().prefix(9)).count == 1)
    #expect(Set(clocks.value.dropFirst(11)).count == 1)
    #expect(Set(alarms.value.prefix(10)).count == 1)
    #expect(Set(alarms.value.dropFirst(10)).count == 1)
    let (first, last) = (try #require(alarms.value.first), try #require(alarms.value.last))
    #expect(first > last)
  }

  @Test("An alarm for a cancelled timer does not affect the next timer")
  func cancelled() throws {
    let loop = try Loop(name: "cancelled")
    loop.farAway = 1
    let fired = Box<[String]>([])
    let early = Box(false)
    let inTime = try loop.run {
      let start = loop.now
      let first = loop.schedule(
        at: start + 2_000_000, OnTimer { _ in fired.value.append("the cancelled one") })
      loop.schedule(
        at: start + 6_000_000,
        OnTimer { _ in
          early.value = loop.refreshNow() < start + 6_000_000
          fired.value.append("the other")
          loop.stop()
        })
      // The poll between has set the alarm for the first.
      loop.schedule(
        at: start,
        OnTimer { _ in
          #expect(loop.cancel(first))
        })
    }
    #expect(inTime)
    #expect(fired.value == ["the other"])
    #expect(!early.value)
  }
}
