import TestSupport
import Testing

@testable import AttoEventLoop

final class OnTurn: TurnHandler {
  var body: () -> Void
  init(_ body: @escaping () -> Void) { self.body = body }
  func turnEnds() { body() }
}

@Suite("Turns", .timeLimit(.minutes(5)), .oneByOne)
struct TurnTests {
  @Test("A turn's end is reported once, after work and timers, before the loop sleeps")
  func end() throws {
    let loop = try Loop(name: "turn")
    let log = Box<[String]>([])
    let inTime = try loop.run {
      // After the waiting work, and before the work that it leaves for the next turn.
      loop.atEndOfTurn(OnTurn { log.value.append("end") })
      loop.schedule(at: loop.now, OnTimer { _ in log.value.append("timer") })
      loop.execute { log.value.append("work") }
      // With a distant timer, the loop would sleep.
      loop.schedule(at: loop.now + 2_000_000, OnTimer { _ in loop.stop() })
    }
    #expect(inTime)
    #expect(log.value == ["work", "timer", "end"])
  }

  @Test("A task that yields goes on after descriptors were reported")
  func yielding() throws {
    let loop = try Loop(name: "yielding")
    let pair = try Pair()
    let told = Box(0)
    let seen = Box<[Int]>([])
    let id = Box<WatchID?>(nil)
    try loop.runBlocking {
      id.value = try loop.watch(
        pair.a, trigger: .level,
        OnReady { _ in
          _ = Pair.drain(pair.a)
          told.value += 1
        })
      loop.setInterest(id.value!, .readable, trigger: .level)
      for _ in 0..<10 {
        pair.send(to: pair.b)
        await loop.yield()
        seen.value.append(told.value)
      }
      loop.unwatch(id.value!)
    }
    #expect(seen.value == Array(1...10))
  }

  @Test("Handlers that are added at a turn's end are called at the next one's, without sleep")
  func again() throws {
    let loop = try Loop(name: "again")
    let rounds = Box(0)
    let inTime = try loop.run {
      @Sendable func round() {
        rounds.value += 1
        guard rounds.value < 1000 else { return loop.stop() }
        loop.atEndOfTurn(OnTurn { round() })
      }
      round()
    }
    #expect(inTime)
    #expect(rounds.value == 1000)
  }
}
