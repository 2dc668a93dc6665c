import EventLoop

/// What a caller waits for, once. All but the waiting happens on the loop.
///
/// `@unchecked Sendable`: every stored property is touched on the loop's thread only, which
/// each function checks.
final class Completion<Value: Sendable>: @unchecked Sendable {
  private let loop: Loop
  @exclusivity(unchecked) private var continuation:
    UnsafeContinuation<Result<Value, AttoError>, Never>?
  @exclusivity(unchecked) private var isCancelled = false
  /// What ends the work before its time, if the caller's task is cancelled. It may complete;
  /// if it does not, the caller gets `cancelled`.
  @exclusivity(unchecked) var whenCancelled: (() -> Void)?

  init(_ loop: Loop) { self.loop = loop }

  /// Wakes the caller. Only the first call has an effect.
  func resume(_ result: Result<Value, AttoError>) {
    precondition(loop.isCurrent)
    guard let continuation else { return }
    self.continuation = nil
    whenCancelled = nil
    HandOver.done(self)
    continuation.resume(returning: result)
  }

  fileprivate func begin(
    _ continuation: UnsafeContinuation<Result<Value, AttoError>, Never>,
    _ body: (Completion<Value>) -> Void
  ) {
    precondition(loop.isCurrent)
    self.continuation = continuation
    if isCancelled { resume(.failure(.cancelled)) } else { body(self) }
  }

  fileprivate func cancel() {
    precondition(loop.isCurrent)
    isCancelled = true
    guard continuation != nil else { return }
    let action = whenCancelled
    whenCancelled = nil
    action?()
    resume(.failure(.cancelled))
  }
}

extension Loop {
  /// Has something begun on the loop and waits until it is completed there.
  ///
  /// Ends with the completion, or with `cancelled` if the caller's task is cancelled first. On
  /// the loop's own thread `body` runs at once.
  ///
  /// The continuation is an unsafe one because ``Completion`` itself sees to it that it is
  /// resumed once; that it is resumed at all is the duty of `body`, as with every callback.
  func complete<Value: Sendable>(
    _ body: @escaping @Sendable (Completion<Value>) -> Void
  ) async throws(AttoError) -> Value {
    let completion = Completion<Value>(self)
    let result = await withTaskCancellationHandler {
      await withUnsafeContinuation { continuation in
        inline { completion.begin(continuation, body) }
      }
    } onCancel: {
      execute { completion.cancel() }
    }
    HandOver.taken(completion)
    return try result.get()
  }
}
