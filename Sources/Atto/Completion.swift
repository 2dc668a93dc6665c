import CLinux
import EventLoop

/// What a caller waits for, once. All but the waiting happens on the loop.
///
/// `@unchecked Sendable`: every stored property is touched on the loop's thread only, which
/// each function checks.
final class Completion<Value: Sendable>: @unchecked Sendable {
  private let loop: Loop
  private var continuation: UnsafeContinuation<Result<Value, AttoError>, Never>?
  private var isCancelled = false
  /// What ends the work before its time, if the caller's task is cancelled. It may complete;
  /// if it does not, the caller gets `cancelled`.
  var whenCancelled: (() -> Void)?

  init(_ loop: Loop) { self.loop = loop }

  /// Wakes the caller. Only the first call has an effect.
  func resume(_ result: Result<Value, AttoError>) {
    precondition(loop.isCurrent)
    guard let continuation else { return }
    self.continuation = nil
    whenCancelled = nil
    handOver()
    continuation.resume(returning: result)
  }

  // A continuation puts what its resumer has done before what its waiter does next. It does so by
  // an atomic in the runtime's own library, which is not built with ThreadSanitizer: told nothing,
  // that takes every result which reaches a task on another thread for a race. So a build for it
  // (`Tests/run thread`) is told of this one order, and every other still has to be there.

  private func handOver() {
    #if THREAD_SANITIZER
      __tsan_release(Unmanaged.passUnretained(self).toOpaque())
    #endif
  }

  fileprivate func takeOver() {
    #if THREAD_SANITIZER
      __tsan_acquire(Unmanaged.passUnretained(self).toOpaque())
    #endif
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
    completion.takeOver()
    return try result.get()
  }
}
