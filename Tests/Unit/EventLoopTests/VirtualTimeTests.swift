import CAttoLinux
import TestSupport
import Testing

@testable import AttoEventLoop

@Suite("Virtual time", .timeLimit(.minutes(5)), .oneByOne)
struct VirtualTimeTests {
  static let hour: Int64 = 3_600_000_000_000

  @Test("Timers fire in order, each at its time, and what one causes comes before the next")
  func order() throws {
    let loop = try Loop(name: "virtual", virtualTime: VirtualTime())
    let seen = Box<[String]>([])
    let pair = try Pair()
    let inTime = try loop.run(seconds: 36_000) {
      func note(_ event: String) { seen.value.append("\(event) at \(loop.now / Self.hour)") }
      _ = try? loop.watch(
        pair.b,
        OnReady { _ in
          if Pair.drain(pair.b) > 0 { note("readable") }
        })
      loop.schedule(
        at: 2 * Self.hour,
        OnTimer { _ in
          note("second")
          loop.schedule(at: 2 * Self.hour, OnTimer { _ in note("another") })
          pair.send(to: pair.a)
          loop.execute { loop.execute { seen.value.append("work") } }
        })
      loop.schedule(at: Self.hour, OnTimer { _ in note("first") })
      loop.schedule(at: 3 * Self.hour, OnTimer { _ in note("third") })
      loop.schedule(at: 3 * Self.hour + 1, OnTimer { _ in Issue.record("fired early") })
      loop.advance(by: .seconds(3 * 3600)) {
        note("end")
        loop.stop()
      }
    }
    #expect(inTime)
    #expect(seen.value.first == "first at 1")
    #expect(seen.value.dropFirst().first == "second at 2")
    #expect(
      Set(seen.value.dropFirst(2).dropLast(2)) == ["readable at 2", "another at 2", "work"])
    #expect(seen.value.suffix(2) == ["third at 3", "end at 3"])
    #expect(loop.alarm < 0)
  }

  @Test("Time stands still without an advance, and the loop sleeps")
  func standsStill() throws {
    let time = VirtualTime()
    let loop = try Loop(name: "still", virtualTime: time)
    let fired = Box<[Int64]>([])
    let early = Box(0)
    try loop.start()
    loop.execute { loop.schedule(at: 1, OnTimer { _ in fired.value.append(loop.now) }) }
    #expect(eventually { loop.signal.load(ordering: .relaxed) == Loop.asleep })
    #expect(time.now == 0)
    loop.execute {
      early.value = fired.value.count
      loop.advance(by: .nanoseconds(1)) { loop.stop() }
    }
    #expect(eventually { loop.owner.load(ordering: .acquiring) == 0 })
    #expect(early.value == 0)
    #expect(fired.value == [1])
  }

  @Test("Advances that overlap end in the order of their ends")
  func overlap() throws {
    let loop = try Loop(name: "overlap", virtualTime: VirtualTime())
    let ended = Box<[Int64]>([])
    let inTime = try loop.run(seconds: 36_000) {
      loop.advance(by: .nanoseconds(7)) {
        ended.value.append(loop.now)
        loop.stop()
      }
      loop.advance(by: .nanoseconds(5)) { ended.value.append(loop.now) }
      loop.advance(by: .zero) { ended.value.append(loop.now) }
    }
    #expect(inTime)
    #expect(ended.value == [0, 5, 7])
  }

  @Test("Time ends before it overflows, and before the farthest timers")
  func endOfTime() throws {
    let loop = try Loop(name: "end", virtualTime: VirtualTime())
    let fired = Box(false)
    loop.execute {
      loop.schedule(at: .max, OnTimer { _ in Issue.record("fired at the end of time") })
      loop.schedule(at: .min, OnTimer { _ in fired.value = true })
      loop.advance(by: .seconds(Int64.max)) {
        loop.advance(by: .seconds(Int64.max)) { loop.stop() }
      }
    }
    loop.run()
    loop.timers = TimerHeap()
    #expect(fired.value)
  }
}
