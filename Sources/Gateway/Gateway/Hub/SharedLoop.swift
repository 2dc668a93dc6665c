extension Actor {
  /// Calls `body` at once, for callers that run on this actor's loop, as all actors of a hub do. Traps
  /// elsewhere. Unlike `assumeIsolated` it may be called in asynchronous functions.
  nonisolated func here<Result: Sendable>(_ body: (isolated Self) -> Result) -> Result {
    assumeIsolated(body)
  }
}
