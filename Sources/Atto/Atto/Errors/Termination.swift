import AttoEventLoop

/// Runs a program's body until it returns, or until the process receives SIGINT or SIGTERM.
///
///     try await untilTerminated {
///       let listener = try await server.listen(on: endpoint)
///       ...
///     }
///     // Clean up.
///
/// The first signal cancels the task of `body`: its waiting calls throw `cancelled`, and so it ends. A
/// second signal has the default action and ends the process. When `body` has ended, the signals have
/// the actions that they had before the call. A signal that was ignored, as in background jobs, stays
/// ignored. Signal masks are not changed.
///
/// At most one call may be in progress in a process; a second one traps.
///
/// - Throws: the errors of `body`. Cancellation (`AttoError.cancelled` and `CancellationError`) after
///   a signal is not an error: the function returns. `loop` if no descriptor is left.
public func untilTerminated(
  _ body: @escaping @Sendable () async throws -> Void
) async throws {
  let loop = Loop.shared
  let (received, continuation) = AsyncStream.makeStream(of: Void.self)
  let signals = try await withUnsafeContinuation { begun in
    loop.execute {
      begun.resume(
        returning: Result { () throws(LoopError) in
          LoopBound(try TerminationSignals(on: loop) { continuation.yield() }, loop)
        })
    }
  }.mapError { AttoError.loop($0) }.get()
  defer {
    TerminationSignals.restore()
    loop.inline { signals.value.end() }
  }
  var isTerminated = false
  do {
    try await withThrowingTaskGroup(of: Bool.self) { group in
      group.addTask {
        try await body()
        return false
      }
      group.addTask { await received.first { true } != nil }
      for try await isSignal in group {
        isTerminated = isTerminated || isSignal
        group.cancelAll()
      }
    }
  } catch let error as AttoError where isTerminated && error.isCancellation {
  } catch is CancellationError where isTerminated {
  }
}
