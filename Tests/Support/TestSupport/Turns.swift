// A build without tests has no such module.
#if canImport(Testing)

  import Synchronization
  import Testing

  /// When a suite's tests run, if all targets are tested in one process as `swift test` does.
  ///
  /// # Theory
  /// Swift Testing starts all tests at once, on as many threads as there are processors. A test that
  /// computes for seconds keeps a thread from tests whose tasks, threads and processes wait for each
  /// other, until these run into the time limits of what they test. So every suite says what its tests
  /// do, and the two kinds take turns:
  /// - ``sideBySide``: computes. Runs beside its like, before the others.
  /// - ``oneByOne``: waits. Runs alone.
  ///
  /// The time that a test waits for its turn does not count against its time limit.
  public struct Turns: SuiteTrait, TestTrait, TestScoping {
    fileprivate enum Kind { case sideBySide, oneByOne }
    fileprivate let kind: Kind

    /// The turns are those of test functions: a function's cases run within one.
    public var isRecursive: Bool { true }

    public func scopeProvider(for test: Test, testCase: Test.Case?) -> Self? {
      test.isSuite || testCase != nil ? nil : self
    }

    public func provideScope(
      for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
      // A suite within a suite has the turns of both.
      guard !Turns.isInTurn else { return try await function() }
      await Turns.begin(kind)
      defer { Turns.end(kind) }
      try await Turns.$isInTurn.withValue(true) { try await function() }
    }

    @TaskLocal private static var isInTurn = false

    private struct State {
      var computing = 0
      var isOneRunning = false
      var sideBySide: [CheckedContinuation<Void, Never>] = []
      var oneByOne: [CheckedContinuation<Void, Never>] = []
      var firstOne = 0

      /// Starts the tests whose turn has come.
      mutating func next() -> [CheckedContinuation<Void, Never>] {
        guard !isOneRunning else { return [] }
        if !sideBySide.isEmpty {
          defer { sideBySide = [] }
          computing += sideBySide.count
          return sideBySide
        }
        guard computing == 0, firstOne < oneByOne.count else { return [] }
        isOneRunning = true
        firstOne += 1
        return [oneByOne[firstOne - 1]]
      }
    }

    private static let state = Mutex(State())

    private static func change(_ body: (inout sending State) -> Void) {
      let started = state.withLock { state in
        body(&state)
        return state.next()
      }
      for waiter in started { waiter.resume() }
    }

    private static func begin(_ kind: Kind) async {
      await withCheckedContinuation { waiter in
        change { state in
          switch kind {
          case .sideBySide: state.sideBySide.append(waiter)
          case .oneByOne: state.oneByOne.append(waiter)
          }
        }
      }
    }

    private static func end(_ kind: Kind) {
      change { state in
        switch kind {
        case .sideBySide: state.computing -= 1
        case .oneByOne: state.isOneRunning = false
        }
      }
    }
  }

  extension Trait where Self == Turns {
    /// The tests compute, and run side by side.
    public static var sideBySide: Self { Turns(kind: .sideBySide) }

    /// The tests wait for threads, processes or the clock, and run one at a time.
    public static var oneByOne: Self { Turns(kind: .oneByOne) }
  }

#endif
