import TestSupport
import Testing

@testable import AttoEventLoop

private enum Fault: WaitError { case cancelled, late, refused }

private typealias Numbers = WaiterList<Int, Int, Fault>

/// An actor on a loop, with callers that wait for numbers.
private actor Numbered {
  nonisolated let loop: Loop
  nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
  private let list = Numbers()

  init(_ loop: Loop) { self.loop = loop }

  var keys: [Int] { list.entries.map(\.key) }

  func wait(_ key: Int, timeout: Duration? = nil) async throws(Fault) -> Int {
    try await loop.withLocalWaiter { (waiter: Numbers.Element) in
      if let timeout { waiter.resume(.failure(.late), after: timeout) }
      list.append(waiter, for: key)
    }
  }

  /// Waits until so many callers wait.
  func awaitCount(_ count: Int) async {
    while list.entries.count != count { await Task.yield() }
  }

  func resumeFirst(_ number: Int) -> Bool { list.resumeFirst(.success(number)) }
  func resumeAll() { list.resumeAll(.failure(.refused)) }
  func resume(_ number: Int, for key: Int) { list.resume(.success(number)) { $0 == key } }
}

@Suite(.timeLimit(.minutes(1)), .oneByOne)
struct WaiterTests {
  private func outcome(
    _ body: () async throws(Fault) -> Int
  ) async -> Result<Int, Fault> {
    do throws(Fault) { return .success(try await body()) } catch { return .failure(error) }
  }

  @Test func waitersAreResumedInOrder() async throws {
    let numbered = Numbered(.shared)
    async let first = outcome { () throws(Fault) in try await numbered.wait(1) }
    await numbered.awaitCount(1)
    async let second = outcome { () throws(Fault) in try await numbered.wait(2) }
    await numbered.awaitCount(2)
    #expect(await numbered.resumeFirst(10))
    #expect(await numbered.resumeFirst(20))
    #expect(await !numbered.resumeFirst(30))
    #expect(await first == .success(10))
    #expect(await second == .success(20))
  }

  @Test func waitersAreChosenByTheirKeys() async throws {
    let numbered = Numbered(.shared)
    async let first = outcome { () throws(Fault) in try await numbered.wait(1) }
    async let second = outcome { () throws(Fault) in try await numbered.wait(2) }
    await numbered.awaitCount(2)
    await numbered.resume(20, for: 2)
    #expect(await second == .success(20))
    #expect(await numbered.keys == [1])
    await numbered.resumeAll()
    #expect(await first == .failure(.refused))
  }

  @Test func aTimeoutResumesAWaiterAndTakesItOffTheList() async throws {
    let numbered = Numbered(.shared)
    let late = await outcome { () throws(Fault) in
      try await numbered.wait(1, timeout: .milliseconds(1))
    }
    #expect(late == .failure(.late))
    #expect(await numbered.keys == [])
  }

  @Test func cancellationResumesAWaiterAndTakesItOffTheList() async throws {
    let numbered = Numbered(.shared)
    let task = Task {
      await outcome { () throws(Fault) in try await numbered.wait(1, timeout: .seconds(60)) }
    }
    await numbered.awaitCount(1)
    task.cancel()
    #expect(await task.value == .failure(.cancelled))
    #expect(await numbered.keys == [])
  }

  @Test func aCancelledTaskDoesNotWait() async throws {
    let numbered = Numbered(.shared)
    let task = Task {
      while !Task.isCancelled { await Task.yield() }
      return await outcome { () throws(Fault) in try await numbered.wait(1) }
    }
    task.cancel()
    #expect(await task.value == .failure(.cancelled))
    #expect(await numbered.keys == [])
  }

  @Test func onlyTheFirstResultCounts() async throws {
    let number: Int = try await Loop.shared.withWaiter { (waiter: Waiter<Int, Fault>) in
      waiter.resume(.success(1))
      waiter.resume(.success(2))
    }
    #expect(number == 1)
  }

  /// A waiter that ends its work when the caller is cancelled may say how that ended.
  @Test func cancelledWorkMayResumeItsWaiter() async throws {
    let started = AsyncStream<Void>.makeStream()
    let task = Task {
      await outcome { () throws(Fault) in
        try await Loop.shared.withWaiter { (waiter: Waiter<Int, Fault>) in
          waiter.whenCancelled = { waiter.resume(.failure(.late)) }
          started.continuation.finish()
        }
      }
    }
    for await _ in started.stream {}
    task.cancel()
    #expect(await task.value == .failure(.late))
  }
}
