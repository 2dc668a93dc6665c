import CAttoLinux
import Glibc
import AttoLinks
import TestSupport
import Testing

@testable import AttoEventLoop
@testable import AttoRadio

/// Accepting while the process has no descriptors left.
@Suite(.oneByOne) struct SocketAcceptorTests {
  /// A scripted listening socket. The loop's thread only.
  private final class Trial {
    var calls = 0
    var taken = 0
    var told: [Int32?] = []
    /// Results of the next calls: true is a connection, false EMFILE, nil that none waits.
    var results: [Bool?] = []
    var acceptor: SocketAcceptor<Int>?
    /// Resumed when no connection waits.
    var waiter: CheckedContinuation<Void, Never>?

    init(on loop: Loop) throws(LoopError) {
      // Never becomes ready.
      let descriptor = clinux_epoll_create()
      acceptor = try SocketAcceptor(
        descriptor, on: loop,
        next: { [unowned self] () throws(LinkError) in
          calls += 1
          switch results.isEmpty ? nil : results.removeFirst() {
          case true: return calls
          case false: throw LinkError(.accept, .system(EMFILE), endpoint: "unix:test")
          case nil:
            waiter?.resume()
            waiter = nil
            return nil
          }
        }, close: { _ = close(descriptor) }, { [unowned self] _ in taken += 1 },
        failure: { [unowned self] in told.append($0.errno) })
    }

    /// How many connections were taken after each of the next turns, the last of this turn first.
    func look(_ times: Int, on loop: Loop, _ counts: [Int] = [], _ end: @escaping ([Int]) -> Void) {
      let counts = counts + [taken]
      guard counts.count < times else { return end(counts) }
      // Timers fire after descriptors, and one that a timer sets fires in the next turn.
      _ = LoopTimer(after: .zero, on: loop) { self.look(times, on: loop, counts, end) }
    }
  }

  /// A storm of connections does not keep other handlers of the loop waiting.
  @Test func aTurnAcceptsABoundedNumber() async throws {
    let loop = try Loop(name: "acceptor")
    try loop.start()
    defer { loop.stop() }
    let counts = await withCheckedContinuation { (waiter: CheckedContinuation<[Int], Never>) in
      loop.execute {
        guard let trial = try? Trial(on: loop) else { return waiter.resume(returning: []) }
        trial.results = Array(repeating: true, count: 4 * SocketAcceptor<Int>.budget)
        trial.acceptor?.ready(.readable)
        trial.look(6, on: loop) { counts in
          trial.acceptor?.stop()
          trial.acceptor = nil
          waiter.resume(returning: counts.map { $0 / SocketAcceptor<Int>.budget })
        }
      }
    }
    #expect(counts == [1, 1, 2, 3, 4, 4])
  }

  private func on<R: Sendable>(_ loop: Loop, _ body: @escaping @Sendable () throws -> R)
    async throws -> R
  {
    try await withCheckedThrowingContinuation { continuation in
      loop.execute { continuation.resume(with: Result { try body() }) }
    }
  }

  /// Connections that arrive during a pause do not start pauses of their own, each of which would be
  /// followed by another one.
  @Test func aShortageIsReportedOnceAndRetriedAfterEachPause() async throws {
    let loop = try Loop(name: "acceptor")
    try loop.start()
    defer { loop.stop() }
    let bound = try await on(loop) { LoopBound(try Trial(on: loop), loop) }
    try await on(loop) {
      let trial = bound.value
      trial.results = [true, false]
      trial.acceptor?.ready(.readable)
      #expect((trial.calls, trial.taken, trial.told) == (2, 1, [EMFILE]))
      trial.results = [false, false, true, true, false, nil]
      for _ in 0..<1000 { trial.acceptor?.ready(.readable) }
      #expect(trial.calls == 2)
      #expect(!loop.timers.isEmpty)
    }
    // Two pauses without descriptors, then two connections, and another shortage, which is reported again.
    await withCheckedContinuation { waiter in
      loop.execute {
        if bound.value.calls < 8 { bound.value.waiter = waiter } else { waiter.resume() }
      }
    }
    try await on(loop) {
      let trial = bound.value
      #expect((trial.calls, trial.taken, trial.told) == (8, 3, [EMFILE, EMFILE]))
      #expect(loop.timers.isEmpty)
      trial.results = [false]
      trial.acceptor?.ready(.readable)
      #expect(trial.told.count == 3)
      #expect(!loop.timers.isEmpty)
      trial.acceptor?.stop()
      #expect(loop.timers.isEmpty)
      trial.acceptor = nil
    }
  }
}
