import Glibc
import Synchronization
import Testing

@testable import AttoEventLoop

@Suite("Mutexes", .timeLimit(.minutes(5)), .oneByOne)
struct MutexTests {
  /// Under ThreadSanitizer, which does not see the library's part without CLinuxThreadSanitizer.c.
  @Test("What a mutex guards is no race, also where a thread has waited for it")
  func contended() throws {
    final class Shared: Sendable {
      let list = Mutex<[Int]>([])
      // Relaxed, so that only the mutex puts anything in order.
      let asked = Atomic<Int>(-1)
      let coming = Atomic<Int>(-1)
      let done = Atomic<Int>(-1)
    }
    let shared = Shared()
    let rounds = 100
    let loop = try Loop(name: "mutex")
    try loop.start()
    loop.execute {
      for round in 0..<rounds {
        guard eventually({ shared.asked.load(ordering: .relaxed) == round }) else { return }
        shared.coming.store(round, ordering: .relaxed)
        shared.list.withLock { $0.append(round) }
        shared.done.store(round, ordering: .relaxed)
      }
    }
    for round in 0..<rounds {
      let isComing = shared.list.withLock { list in
        shared.asked.store(round, ordering: .relaxed)
        let isComing = eventually { shared.coming.load(ordering: .relaxed) == round }
        for _ in 0..<20 { sched_yield() }
        list.append(round)
        return isComing
      }
      try #require(isComing && eventually { shared.done.load(ordering: .relaxed) == round })
    }
    #expect(shared.list.withLock { $0.count } == 2 * rounds)
    loop.stop()
  }
}
