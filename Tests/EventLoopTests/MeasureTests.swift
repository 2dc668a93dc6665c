import CLinux
import Glibc
import Synchronization
import Testing

@testable import EventLoop

/// Figures, for those who ask: `ATTO_MEASURE=1 swift test -c release -Xswiftc -enable-testing
/// --filter MeasureTests`. They fail only if something does not end.
@Suite("Figures", .enabled(if: getenv("ATTO_MEASURE") != nil), .serialized)
struct MeasureTests {
  private func report(_ what: String, _ count: Int, _ nanoseconds: Int64) {
    let each = Double(nanoseconds) / Double(count)
    let text = (each * 10).rounded() / 10
    print("\(what): \(text) ns each, \(Int(1e9 / each)) a second")
  }

  @Test("A body handed to the own loop")
  func localBodies() throws {
    let loop = try Loop(name: "bodies")
    let left = Box(5_000_000)
    @Sendable func again() {
      left.value -= 1
      if left.value == 0 { loop.stop() } else { loop.execute { again() } }
    }
    let start = clinux_monotonic()
    loop.execute { again() }
    loop.run()
    report("local execute", 5_000_000, clinux_monotonic() - start)
  }

  @Test("A job handed to the own loop")
  func localJobs() throws {
    let loop = try Loop(name: "jobs")
    var start = clinux_monotonic()
    loop.runBlocking { for _ in 0..<1_000_000 { await Task.yield() } }
    report("local job (Task.yield)", 1_000_000, clinux_monotonic() - start)

    let one = Resident(loop)
    start = clinux_monotonic()
    loop.runBlocking { for _ in 0..<1_000_000 { await one.increment() } }
    report("task of the loop calls an actor of the loop", 1_000_000, clinux_monotonic() - start)

    start = clinux_monotonic()
    loop.runBlocking { await one.call(Resident(loop), times: 1_000_000) }
    report("actor calls actor of the same loop", 1_000_000, clinux_monotonic() - start)

    start = clinux_monotonic()
    loop.runBlocking {
      for _ in 0..<1_000_000 { _ = await nonisolatedStep() }
    }
    report("task of the loop calls a nonisolated function", 1_000_000, clinux_monotonic() - start)
  }

  @Test("A 3-byte PDU there and back, within one loop")
  func pingPongLocal() throws {
    let loop = try Loop(name: "pingpong")
    let rounds = 200_000
    let took = Box<Int64>(0)
    #expect(
      loop.run(seconds: 60) {
        let pair = Pair()
        let start = clinux_monotonic()
        _ = try! loop.watch(pair.a, Echo(pair.a, pair, rounds: .max) {})
        _ = try! loop.watch(
          pair.b,
          Echo(pair.b, pair, rounds: rounds) {
            took.value = clinux_monotonic() - start
            loop.stop()
          })
        pair.send(3, to: pair.b)
      })
    report("round trip within one loop", rounds, took.value)
  }

  @Test("A 3-byte PDU there and back, between two loops")
  func pingPongAcross() throws {
    let far = try Loop(name: "far")
    try far.start()
    let loop = try Loop(name: "near")
    let rounds = 200_000
    let took = Box<Int64>(0)
    let pair = Pair()
    far.execute { _ = try! far.watch(pair.a, Echo(pair.a, pair, rounds: .max) {}) }
    #expect(
      loop.run(seconds: 60) {
        let start = clinux_monotonic()
        _ = try! loop.watch(
          pair.b,
          Echo(pair.b, pair, rounds: rounds) {
            took.value = clinux_monotonic() - start
            loop.stop()
          })
        pair.send(3, to: pair.b)
      })
    report("round trip between two loops", rounds, took.value)
    far.stop()
  }

  @Test("A body handed to another thread's loop")
  func remote() throws {
    let far = try Loop(name: "far")
    try far.start()
    let count = Atomic<Int>(0)
    let start = clinux_monotonic()
    for _ in 0..<1_000_000 { far.execute { count.add(1, ordering: .relaxed) } }
    #expect(eventually(seconds: 60) { count.load(ordering: .relaxed) == 1_000_000 })
    report("remote execute", 1_000_000, clinux_monotonic() - start)
    far.stop()
  }

  @Test("A timer set and cancelled among 500 others")
  func timers() throws {
    let loop = try Loop(name: "timers")
    let took = Box<Int64>(0)
    #expect(
      loop.run(seconds: 60) {
        let handler = OnTimer { _ in }
        for index in 0..<500 { loop.schedule(at: .max - Int64(index), handler) }
        let start = clinux_monotonic()
        for index in 0..<1_000_000 {
          loop.cancel(loop.schedule(at: 1 << 62 - Int64(index & 1023), handler))
        }
        took.value = clinux_monotonic() - start
        loop.stop()
      })
    report("timer set and cancelled", 1_000_000, took.value)
  }
}

@inline(never) private func nonisolatedStep() async -> Bool { true }

extension Resident {
  func call(_ other: Resident, times: Int) async {
    for _ in 0..<times { await other.increment() }
  }
}

/// Sends back what it receives, so often.
private final class Echo: ReadinessHandler {
  let descriptor: Int32
  let pair: Pair
  var rounds: Int
  let done: () -> Void
  var buffer = [UInt8](repeating: 0, count: 64)

  init(_ descriptor: Int32, _ pair: Pair, rounds: Int, done: @escaping () -> Void) {
    (self.descriptor, self.pair, self.rounds, self.done) = (descriptor, pair, rounds, done)
  }

  func ready(_ readiness: Readiness) {
    guard readiness.contains(.readable) else { return }
    while true {
      let count = clinux_receive(descriptor, &buffer, 64)
      guard count > 0 else { return }
      rounds -= 1
      guard rounds > 0 else { return done() }
      _ = clinux_send(descriptor, buffer, count)
    }
  }
}
