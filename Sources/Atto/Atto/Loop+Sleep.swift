import AttoEventLoop

extension Loop {
  /// Waits for this time on the loop's clock.
  ///
  /// - Throws: `cancelled` if the caller's task is cancelled first.
  public func sleep(for duration: Duration) async throws(AttoError) {
    try await withWaiter { (waiter: Waiter<Void, AttoError>) in
      let timer = LoopTimer(after: duration, on: self) { waiter.resume(.success(())) }
      waiter.whenCancelled = { timer.cancel() }
    }
  }
}
