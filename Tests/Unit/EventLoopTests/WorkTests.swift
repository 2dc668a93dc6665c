import CAttoLinux
import Glibc
import Synchronization
import TestSupport
import Testing

@testable import AttoEventLoop

@Suite("Work", .timeLimit(.minutes(5)), .oneByOne)
struct WorkTests {
  @Test("10,000 bodies from four threads all run, each thread's in order")
  func manyThreads() throws {
    let loop = try Loop(name: "many")
    let seen = Box([[Int]](repeating: [], count: 4))
    let done = Box(0)
    var threads = [pthread_t](repeating: 0, count: 4)
    final class Sender {
      let loop: Loop, seen: Box<[[Int]]>, done: Box<Int>, number: Int
      init(_ loop: Loop, _ seen: Box<[[Int]]>, _ done: Box<Int>, _ number: Int) {
        (self.loop, self.seen, self.done, self.number) = (loop, seen, done, number)
      }
    }
    for number in 0..<4 {
      let sender = Unmanaged.passRetained(Sender(loop, seen, done, number))
      pthread_create(
        &threads[number], nil,
        { context in
          let sender = Unmanaged<Sender>.fromOpaque(context!).takeRetainedValue()
          let (seen, done, loop, number) = (sender.seen, sender.done, sender.loop, sender.number)
          for index in 0..<2500 {
            loop.execute {
              seen.value[number].append(index)
              done.value += 1
              if done.value == 10_000 { loop.stop() }
            }
          }
          return nil
        }, sender.toOpaque())
    }
    #expect(try loop.run {})
    for thread in threads { pthread_join(thread, nil) }
    for number in 0..<4 { #expect(seen.value[number] == Array(0..<2500)) }
  }

  @Test("A sleeping loop wakes for each body, 1000 times")
  func wakes() throws {
    let loop = try Loop(name: "wakes")
    try loop.start()
    defer { loop.stop() }
    let count = Atomic<Int>(0)
    for round in 1...1000 {
      #expect(eventually { loop.signal.load(ordering: .relaxed) == Loop.asleep })
      loop.execute { count.add(1, ordering: .relaxed) }
      guard eventually({ count.load(ordering: .relaxed) == round }) else {
        Issue.record("not woken in round \(round)")
        return
      }
    }
  }

  @Test("Work of the loop's own thread writes no eventfd")
  func localWorkIsSilent() throws {
    let loop = try Loop(name: "silent")
    let count = Box(0)
    loop.execute {
      for _ in 0..<1000 {
        loop.execute {
          count.value += 1
          if count.value == 1000 { loop.stop() }
        }
      }
    }
    loop.run()
    var written: UInt64 = 0
    // The eventfd is never read, so it has counted every wake-up.
    #expect(read(loop.wakeUp, &written, 8) == -1)
    #expect(count.value == 1000)
  }

  @Test("An idle loop uses no processor")
  func idle() throws {
    let loop = try Loop(name: "idle")
    try loop.start()
    defer { loop.stop() }
    let thread = Atomic<Int>(0)
    let watched = try Pair()
    loop.execute {
      // A watched descriptor and a distant timer do not make it busy.
      loop.schedule(at: loop.now + 3_600_000_000_000, OnTimer { _ in })
      #expect(throws: Never.self) { try loop.watch(watched.a, OnReady { _ in _ = watched }) }
      thread.store(Int(clinux_thread_number()), ordering: .releasing)
    }
    #expect(eventually { thread.load(ordering: .acquiring) != 0 })
    #expect(eventually { loop.signal.load(ordering: .relaxed) == Loop.asleep })
    // The first report of the pair, and then nothing.
    let number = thread.load(ordering: .relaxed)
    #expect(eventually { state(of: number).switches > 0 })
    let pair = try Pair()
    _ = clinux_poll(pair.a, Int32(POLLIN), 50)
    #expect(eventually { state(of: number).isAsleep })
    let before = state(of: number).switches
    // Waits until its deadline for something that does not happen.
    #expect(clinux_poll(pair.a, Int32(POLLIN), 300) == 0)
    #expect(state(of: number).switches == before)
  }

  /// Whether a thread of this process sleeps, unlike one that waits for a processor, and how often
  /// it has slept.
  private func state(of thread: Int) -> (isAsleep: Bool, switches: Int) {
    guard let file = fopen("/proc/self/task/\(thread)/status", "r") else { return (false, 0) }
    defer { fclose(file) }
    var isAsleep = false
    var sum = 0
    var line = [CChar](repeating: 0, count: 256)
    while fgets(&line, 256, file) != nil {
      let octets = line.prefix { $0 != 0 }.map(UInt8.init(bitPattern:))
      let text = String(decoding: octets, as: UTF8.self)
      if text.hasPrefix("State:") { isAsleep = text.contains("S (sleeping)") }
      guard text.contains("ctxt_switches"), let colon = text.firstIndex(of: ":") else { continue }
      sum += Int(text[text.index(after: colon)...].filter(\.isNumber)) ?? 0
    }
    return (isAsleep, sum)
  }

  @Test("Endless work starves neither descriptors nor timers")
  func fairness() throws {
    let loop = try Loop(name: "fair")
    let told = Box((descriptor: false, timer: false))
    let pair = try Pair()
    let a = pair.a
    let b = pair.b
    let inTime = try loop.run {
      @Sendable func again() {
        guard !(told.value.descriptor && told.value.timer) else { return loop.stop() }
        loop.execute { again() }
      }
      again()
      again()
      loop.schedule(at: loop.now, OnTimer { _ in told.value.timer = true })
      _ = try loop.watch(
        a,
        OnReady { readiness in
          if readiness.contains(.readable) { told.value.descriptor = true }
        })
      try #require(clinux_send(b, [1], 1) == 1)
    }
    #expect(inTime)
    withExtendedLifetime(pair) {}
  }

  @Test("stop() before run() ends it at once, and the loop can run again")
  func stopAndRunAgain() throws {
    let loop = try Loop(name: "again")
    loop.stop()
    loop.run()
    let ran = Box(0)
    loop.execute { ran.value += 1 }
    loop.execute { loop.stop() }
    loop.run()
    #expect(ran.value == 1)
    #expect(!loop.isCurrent)
  }

  @Test("A bound value is accessible on its loop's thread only")
  func boundValue() throws {
    let loop = try Loop(name: "bound")
    let bound = LoopBound(7, loop)
    #expect(bound.valueHere == nil)
    let seen = Box<Int?>(nil)
    loop.execute {
      seen.value = bound.valueHere
      loop.stop()
    }
    loop.run()
    #expect(seen.value == 7)
    #expect(bound.valueHere == nil)
  }

  @Test("A stopped loop is released")
  func goesAway() throws {
    weak var observed: Loop?
    do {
      let loop = try Loop(name: "away")
      observed = loop
      try loop.start()
      loop.stop()
    }
    #expect(eventually { observed == nil })
  }
}
