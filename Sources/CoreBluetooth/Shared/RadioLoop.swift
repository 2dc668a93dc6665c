internal import Atto

/// The thread on which everything happens that has to do with radios, links and servers: Atto's
/// shared loop, as a global actor.
///
/// Classes with this attribute are the module's inside; the classes that Apple names are its
/// outside, and are touched by the app's threads.
@globalActor actor RadioLoop {
  static let shared = RadioLoop()
  static let loop = Loop.shared

  nonisolated var unownedExecutor: UnownedSerialExecutor {
    Self.loop.asUnownedSerialExecutor()
  }

  /// Runs `body` on the loop, in one of its next turns. What one thread hands over runs in that
  /// order.
  nonisolated static func later(_ body: @escaping @RadioLoop @Sendable () -> Void) {
    loop.execute { assumeIsolated(body) }
  }

  /// Runs `body` at once. Traps off the loop's thread.
  ///
  /// The cast takes nothing but the isolation off the function's type, as the standard library
  /// does for the main actor; that it holds is checked.
  nonisolated static func assumeIsolated<Result>(
    _ body: @RadioLoop () throws -> Result
  ) rethrows -> Result {
    precondition(loop.isCurrent, "not on the thread of loop \(loop.name)")
    return try withoutActuallyEscaping(body) { body in
      try unsafeBitCast(body, to: (() throws -> Result).self)()
    }
  }
}
