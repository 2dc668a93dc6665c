extension Loop {
  /// Runs `body` on the loop's thread: now if this is it, else in one of its next turns.
  public func inline(_ body: @escaping @Sendable () -> Void) {
    if isCurrent { body() } else { execute(body) }
  }
}
