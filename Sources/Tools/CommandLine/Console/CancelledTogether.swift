extension Task where Failure == any Error {
  /// The task's value. Cancelling the task that waits for it cancels this one.
  package var valueOrCancel: Success {
    get async throws {
      try await withTaskCancellationHandler {
        try await value
      } onCancel: {
        cancel()
      }
    }
  }
}
