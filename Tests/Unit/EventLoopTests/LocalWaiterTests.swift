import AttoEventLoop
import TestSupport
import Testing

/// What callers of `withLocalWaiter` wait for may happen before their waiter is there.
@Suite(.timeLimit(.minutes(5)), .oneByOne) struct LocalWaiterTests {
  enum Failure: WaitError { case cancelled }

  actor Member {
    nonisolated let loop: Loop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
    private var isSet = false
    private let waiters = WaiterList<Void, Void, Failure>()

    init(_ loop: Loop) { self.loop = loop }

    private func set() {
      isSet = true
      waiters.resumeAll(.success(()))
    }

    /// Something else on the loop sets what this waits for, as soon as it may run.
    func wait() async throws {
      isSet = false
      loop.execute { self.here { $0.set() } }
      try await loop.withLocalWaiter { (waiter: Waiter<Void, Failure>) in
        guard !isSet else { return waiter.resume(.success(())) }
        waiters.append(waiter)
      }
    }
  }

  @Test(arguments: [true, false]) func bodiesLookThemselves(prefersLoop: Bool) async throws {
    let loop = try Loop(name: "local")
    try loop.start()
    defer { loop.stop() }
    let member = Member(loop)
    let preferred: LoopTasks? = prefersLoop ? loop.tasks : nil
    try await Task(executorPreference: preferred) {
      for _ in 0..<1000 { try await member.wait() }
    }.value
  }
}
