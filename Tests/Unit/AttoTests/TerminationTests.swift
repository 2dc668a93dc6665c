import Glibc
import TestSupport
import Testing

@testable import Atto

/// Each test has a process of its own.
@Suite(.oneByOne) struct TerminationTests {
  /// Whether the action of a signal is SIG_IGN.
  static func isIgnored(_ signal: Int32) -> Bool {
    var action = sigaction()
    sigaction(signal, nil, &action)
    return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) == 1
  }

  @Test(arguments: [SIGINT, SIGTERM])
  func aSignalCancelsTheBody(_ signal: Int32) async {
    await #expect(processExitsWith: .exitCode(7)) { [signal] in
      try await untilTerminated {
        kill(getpid(), signal)
        try await Loop.shared.sleep(for: .seconds(60))
      }
      exit(7)
    }
  }

  @Test func aSecondSignalEndsTheProcess() async {
    await #expect(processExitsWith: .signal(SIGTERM)) {
      try await untilTerminated {
        kill(getpid(), SIGINT)
        try? await Loop.shared.sleep(for: .seconds(60))
        kill(getpid(), SIGTERM)
        while true { await Task.yield() }
      }
    }
  }

  @Test func theActionsAreRestored() async {
    await #expect(processExitsWith: .signal(SIGINT)) {
      for _ in 0..<2 { try await untilTerminated {} }
      kill(getpid(), SIGINT)
      while true { await Task.yield() }
    }
  }

  @Test func ignoredSignalsStayIgnored() async {
    await #expect(processExitsWith: .exitCode(7)) {
      Glibc.signal(SIGINT, SIG_IGN)
      try await untilTerminated {
        if !TerminationTests.isIgnored(SIGINT) || TerminationTests.isIgnored(SIGTERM) { exit(1) }
        kill(getpid(), SIGTERM)
        try await Loop.shared.sleep(for: .seconds(60))
      }
      exit(TerminationTests.isIgnored(SIGINT) ? 7 : 1)
    }
  }

  /// Errors that the signal has not caused are thrown.
  @Test func errorsOfTheBody() async {
    await #expect(processExitsWith: .exitCode(7)) {
      var caught = 0
      do {
        try await untilTerminated { throw AttoError.cancelled }
      } catch AttoError.cancelled {
        caught += 3
      }
      do {
        try await untilTerminated {
          kill(getpid(), SIGTERM)
          try? await Loop.shared.sleep(for: .seconds(60))
          throw AttoError.misuse(.mtuAlreadyExchanged)
        }
      } catch AttoError.misuse(.mtuAlreadyExchanged) {
        caught += 4
      }
      exit(Int32(caught))
    }
  }
}
