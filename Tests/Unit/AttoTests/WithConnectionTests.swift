import TestSupport
import Testing

@testable import Atto

/// Connections that last as long as a function.
@Suite(.oneByOne) struct WithConnectionTests {
  @Test func returnsTheResultAndCloses() async throws {
    try await withDeadline {
      let bench = try await Bench()
      let (value, connection) = try await Connection.withConnection(to: bench.endpoint) {
        connection in
        #expect(await connection.endReason == nil)
        return (try await connection.readOnce(bench.greeting), connection)
      }
      #expect(value == Bench.hello)
      #expect(await connection.endReason == .closed)
    }
  }

  @Test func closesAfterAnError() async throws {
    try await withDeadline {
      let bench = try await Bench()
      let connections = Log<Connection>()
      let error = await failure {
        try await Connection.withConnection(to: bench.endpoint) {
          connection throws(AttoError) in
          connections.append(connection)
          throw .misuse(.mtuAlreadyExchanged)
        }
      }
      #expect(error == .misuse(.mtuAlreadyExchanged))
      #expect(await connections.all.first?.endReason == .closed)
    }
  }

  @Test func closesWhenTheTaskIsCancelled() async throws {
    try await withDeadline {
      let bench = try await Bench()
      let connections = Log<Connection>()
      let task = Task {
        await failure {
          try await Connection.withConnection(to: bench.endpoint) { connection in
            connections.append(connection)
            try await connection.waitUntilClosed()
          }
        }
      }
      await connections.wait(count: 1)
      task.cancel()
      #expect(await task.value == .cancelled)
      #expect(await connections.all.first?.endReason == .closed)
    }
  }

  /// The type of the error follows from that of the body.
  @Test func typesOfErrors() async throws {
    try await withDeadline {
      let bench = try await Bench()
      do throws(AttoError) {
        try await Connection.withConnection(to: bench.endpoint) {
          connection throws(AttoError) in _ = try await connection.readOnce(bench.greeting)
        }
      } catch {
        Issue.record("\(error.description)")
      }
      struct Ended: Error {}
      await #expect(throws: Ended.self) {
        try await Connection.withConnection(to: bench.endpoint) { connection in
          _ = try await connection.readOnce(bench.greeting)
          throw Ended()
        }
      }
    }
  }

  @Test func doesNotCallTheBodyWithoutAConnection() async throws {
    try await withDeadline {
      let folder = TemporaryFolder()
      let error = await failure {
        try await Connection.withConnection(to: .unix(path: folder.socket("nobody"))) {
          _ in Issue.record("connected")
        }
      }
      guard case .link = error else { throw UnexpectedError(error: error) }
    }
  }

  private struct UnexpectedError: Error { let error: AttoError? }
}
