internal import Atto

/// The thread for everything that concerns radios, links and servers: Atto's shared loop, as a
/// global actor.
///
/// Classes with this attribute are internal. Apple's classes are used on the app's threads.
@globalActor actor RadioLoop {
  static let shared = RadioLoop()
  static let loop = Loop.shared

  nonisolated var unownedExecutor: UnownedSerialExecutor {
    Self.loop.asUnownedSerialExecutor()
  }

  /// Runs `body` on the loop, in a later turn. Calls from one thread run in their order.
  nonisolated static func later(_ body: @escaping @RadioLoop @Sendable () -> Void) {
    loop.execute { assumeIsolated(body) }
  }

  /// Runs `body` at once. Traps on any other thread than the loop's.
  ///
  /// The cast removes only the isolation from the function's type, as the standard library does
  /// for the main actor. The precondition checks the isolation.
  nonisolated static func assumeIsolated<Result>(
    _ body: @RadioLoop () throws -> Result
  ) rethrows -> Result {
    precondition(loop.isCurrent, "not on the thread of loop \(loop.name)")
    return try withoutActuallyEscaping(body) { body in
      try unsafeBitCast(body, to: (() throws -> Result).self)()
    }
  }
}
