import Synchronization
import TestSupport
import Testing

@testable import AttoEventLoop

/// An actor on a loop.
actor Resident {
  let loop: Loop
  nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
  private(set) var count = 0
  init(_ loop: Loop) { self.loop = loop }

  func whereabouts() -> Bool { loop.isCurrent }
  func increment() { count += 1 }
  func visit(_ other: Resident) async -> Bool {
    await other.increment()
    return loop.isCurrent
  }
}

private func nonisolatedWhereabouts(_ loop: Loop) async -> Bool { loop.isCurrent }

@Suite("Executor", .timeLimit(.minutes(5)), .oneByOne)
struct ExecutorTests {
  @Test("An actor with a loop as its executor runs on the loop's thread")
  func actorOnLoop() async throws {
    let loop = try Loop(name: "actor")
    try loop.start()
    let resident = Resident(loop)
    #expect(await resident.whereabouts())
    let other = Resident(loop)
    #expect(await resident.visit(other))
    #expect(await other.count == 1)
    loop.stop()
  }

  @Test("A task that prefers a loop runs there, its children and its nonisolated callees too")
  func preference() async throws {
    let loop = try Loop(name: "prefer")
    try loop.start()
    let here = await withTaskExecutorPreference(loop.tasks) {
      var places = [loop.isCurrent, await nonisolatedWhereabouts(loop)]
      places += await withTaskGroup(of: Bool.self) { group in
        for _ in 0..<10 { group.addTask { await nonisolatedWhereabouts(loop) } }
        return await group.reduce(into: []) { $0.append($1) }
      }
      async let child = nonisolatedWhereabouts(loop)
      places.append(await child)
      let resident = Resident(loop)
      places.append(await resident.whereabouts())
      places.append(loop.isCurrent)
      return places
    }
    #expect(here == Array(repeating: true, count: 15))
    #expect(!loop.isCurrent)
    loop.stop()
  }

  @Test("Handlers on the loop's thread may assume an actor's isolation")
  func assumeIsolated() async throws {
    let loop = try Loop(name: "assume")
    try loop.start()
    let resident = Resident(loop)
    let count = await withCheckedContinuation { continuation in
      loop.execute {
        let count = resident.assumeIsolated {
          $0.increment()
          return $0.count
        }
        continuation.resume(returning: count)
      }
    }
    #expect(count == 1)
    loop.stop()
  }

  @Test("runBlocking runs a loop on the calling thread and returns the result or throws the error")
  func runBlocking() throws {
    enum Failure: Error { case expected }
    let loop = try Loop(name: "block")
    let resident = Resident(loop)
    let answer = loop.runBlocking { () async -> Int in
      for _ in 0..<100 { await resident.increment() }
      await Task.yield()
      #expect(await nonisolatedWhereabouts(loop))
      return await resident.count
    }
    #expect(answer == 100)
    #expect(throws: Failure.expected) {
      try loop.runBlocking { () async throws(Failure) -> Int in throw .expected }
    }
    #expect(!loop.isCurrent)
  }

  @Test("runBlocking waits for work from other threads")
  func runBlockingAcross() throws {
    let loop = try Loop(name: "across")
    let sum = loop.runBlocking {
      await withTaskGroup(of: Int.self) { group in
        for index in 0..<100 {
          group.addTask(executorPreference: globalConcurrentExecutor) { index }
        }
        return await group.reduce(0, +)
      }
    }
    #expect(sum == 4950)
  }

  @Test("stop() does not end runBlocking")
  func stopInside() throws {
    let loop = try Loop(name: "inside")
    let answer = loop.runBlocking {
      loop.stop()
      await Task.yield()
      return 42
    }
    #expect(answer == 42)
    #expect(loop.runBlocking { 43 } == 43)
  }

  @Test("The shared loop runs")
  func shared() async {
    #expect(await withTaskExecutorPreference(Loop.shared.tasks) { Loop.shared.isCurrent })
  }
}
