/// An error that a waiting caller gets when its task is cancelled.
public protocol WaitError: Error {
  /// The caller's task was cancelled.
  static var cancelled: Self { get }
}

/// A suspended caller, resumed once with a result. Used on one loop's thread.
///
/// It is resumed by the first of these: ``resume(_:)``, its timeout, or the cancellation of its
/// task. Later ones have no effect. A waiter that is in a ``WaiterList`` leaves it when it is
/// resumed.
///
/// Get one from ``Loop/withWaiter(_:)`` or `Loop.withLocalWaiter(_:)`.
///
/// `@unchecked Sendable`: every stored property is touched on the loop's thread only, which each
/// function checks.
public final class Waiter<Value: Sendable, Failure: WaitError>: @unchecked Sendable {
  @usableFromInline let loop: Loop
  @usableFromInline @exclusivity(unchecked) var continuation:
    UnsafeContinuation<Result<Value, Failure>, Never>?
  @usableFromInline @exclusivity(unchecked) var isCancelled = false
  /// The list that this waiter is in. The cycle ends when the waiter is resumed.
  @usableFromInline @exclusivity(unchecked) var list: (any WaiterHolder)?
  @usableFromInline @exclusivity(unchecked) var timer: LoopTimer?
  /// Called when the caller's task is cancelled, to end the work that the caller waits for. It may
  /// resume the waiter; otherwise the caller gets `cancelled`.
  @exclusivity(unchecked) public var whenCancelled: (() -> Void)?

  @inlinable init(_ loop: Loop) { self.loop = loop }

  /// Resumes the caller. Traps off the loop's thread.
  @inlinable public func resume(_ result: Result<Value, Failure>) {
    precondition(loop.isCurrent)
    guard let continuation else { return }
    self.continuation = nil
    whenCancelled = nil
    if list != nil || timer != nil { detach() }
    HappensBefore.release(self)
    continuation.resume(returning: result)
  }

  /// Resumes the caller with this result unless it is resumed within this time.
  public func resume(_ result: Result<Value, Failure>, after time: Duration) {
    timer?.cancel()
    // The cycle ends when the timer fires or is cancelled.
    timer = LoopTimer(after: time, on: loop) { self.resume(result) }
  }

  /// The same, and the work that the caller waits for ends too (see ``whenCancelled``).
  public func end(_ result: Result<Value, Failure>, after time: Duration) {
    guard continuation != nil else { return }
    timer?.cancel()
    timer = LoopTimer(after: time, on: loop) {
      let action = self.whenCancelled
      self.resume(result)
      action?()
    }
  }

  /// Leaves the list and cancels the timer.
  @usableFromInline func detach() {
    list?.remove(self)
    list = nil
    timer?.cancel()
    timer = nil
  }

  /// Begins to wait. False if the task was cancelled before; the caller is resumed then.
  @inlinable func begin(
    _ continuation: UnsafeContinuation<Result<Value, Failure>, Never>
  ) -> Bool {
    precondition(loop.isCurrent)
    self.continuation = continuation
    guard isCancelled else { return true }
    resume(.failure(.cancelled))
    return false
  }

  @inlinable func cancel() {
    precondition(loop.isCurrent)
    isCancelled = true
    guard continuation != nil else { return }
    let action = whenCancelled
    whenCancelled = nil
    action?()
    resume(.failure(.cancelled))
  }
}

/// A list that waiters leave when they are resumed.
@usableFromInline protocol WaiterHolder: AnyObject {
  func remove(_ waiter: AnyObject)
}

extension Loop {
  /// Calls `body` on the loop with a waiter, and suspends the caller until that is resumed. On the
  /// loop's own thread `body` runs at once. For callers on any thread.
  ///
  /// `body` must see to it that the waiter is resumed at some time, as with any continuation.
  ///
  /// Throws what the waiter is resumed with; `cancelled` if the caller's task is cancelled first.
  @inlinable public nonisolated(nonsending) func withWaiter<Value: Sendable, Failure: WaitError>(
    _ body: @escaping @Sendable (Waiter<Value, Failure>) -> Void
  ) async throws(Failure) -> Value {
    let waiter = Waiter<Value, Failure>(self)
    let result = await withTaskCancellationHandler {
      await withUnsafeContinuation { continuation in
        inline { if waiter.begin(continuation) { body(waiter) } }
      }
    } onCancel: {
      execute { waiter.cancel() }
    }
    HappensBefore.acquire(waiter)
    return try result.get()
  }

  /// Calls `body` with a waiter, and suspends the caller until that is resumed. For callers on the
  /// loop's thread, such as methods of actors that run there: `body` runs in their isolation and need
  /// not be `Sendable`. Traps off the loop's thread.
  ///
  /// Other work of the loop may run before `body`: to enter this function, the runtime takes turns of
  /// the queue in a task that prefers an executor. So `body` itself looks whether there is something to
  /// wait for. What the caller has seen before may be over, and nobody would resume the waiter.
  ///
  /// Throws what the waiter is resumed with; `cancelled` if the caller's task is cancelled first,
  /// or was before: `body` is not called then.
  @inlinable public func withLocalWaiter<Value: Sendable, Failure: WaitError>(
    isolation: isolated (any Actor)? = #isolation,
    _ body: (Waiter<Value, Failure>) -> Void
  ) async throws(Failure) -> Value {
    let waiter = Waiter<Value, Failure>(self)
    let result = await withTaskCancellationHandler {
      // Naming the isolation keeps this closure on the actor.
      await withUnsafeContinuation(isolation: isolation) {
        (continuation: UnsafeContinuation<Result<Value, Failure>, Never>) in
        if Task.isCancelled { return continuation.resume(returning: .failure(.cancelled)) }
        if waiter.begin(continuation) { body(waiter) }
      }
    } onCancel: {
      execute { waiter.cancel() }
    }
    HappensBefore.acquire(waiter)
    return try result.get()
  }
}
