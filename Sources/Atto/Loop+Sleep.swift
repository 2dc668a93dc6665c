import EventLoop

extension Loop {
  /// Waits on the loop's own clock.
  ///
  /// - Throws: `cancelled` if the caller's task is cancelled first.
  public func sleep(for duration: Duration) async throws(AttoError) {
    try await complete { (completion: Completion<Void>) in
      let timer = OneTimer(after: duration, on: self) { completion.resume(.success(())) }
      completion.whenCancelled = { timer.cancel() }
    }
  }
}
