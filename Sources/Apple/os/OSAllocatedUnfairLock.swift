import Glibc

/// A lock on the heap with the state that it protects. Copies are the same lock.
///
/// `@unchecked Sendable`: the state is touched only while the mutex is locked. The functions with
/// "unchecked" in their names trust the caller with values that are not Sendable, as Apple's do.
public struct OSAllocatedUnfairLock<State>: @unchecked Sendable {
  /// Holds the mutex in memory of its own, so that it never moves.
  private final class Storage {
    let mutex: UnsafeMutablePointer<pthread_mutex_t>
    var state: State

    init(_ state: State) {
      self.state = state
      mutex = .allocate(capacity: 1)
      mutex.initialize(to: pthread_mutex_t())
      // With error checking, locking twice and unlocking on another thread trap, as with Apple's
      // lock, instead of hanging.
      var attributes = pthread_mutexattr_t()
      pthread_mutexattr_init(&attributes)
      pthread_mutexattr_settype(&attributes, Int32(PTHREAD_MUTEX_ERRORCHECK))
      pthread_mutex_init(mutex, &attributes)
      pthread_mutexattr_destroy(&attributes)
    }

    deinit {
      pthread_mutex_destroy(mutex)
      mutex.deinitialize(count: 1)
      mutex.deallocate()
    }

    func lock() {
      let status = pthread_mutex_lock(mutex)
      Swift.precondition(
        status == 0, "lock() was called while this thread holds the lock: unlock it first")
    }

    func unlock() {
      let status = pthread_mutex_unlock(mutex)
      Swift.precondition(status == 0, "unlock() was called on a thread that does not hold the lock")
    }
  }

  /// A condition for ``precondition(_:)``.
  public enum Ownership: Hashable, Sendable { case owner, notOwner }

  private let storage: Storage

  public init(uncheckedState initialState: State) { storage = Storage(initialState) }

  /// Runs `body` with the lock held. Traps if this thread already holds it.
  public func withLockUnchecked<Result>(
    _ body: (inout State) throws -> Result
  ) rethrows -> Result {
    storage.lock()
    defer { storage.unlock() }
    return try body(&storage.state)
  }

  /// Runs `body` with the lock held. Traps if this thread already holds it.
  public func withLock<Result: Sendable>(
    _ body: @Sendable (inout State) throws -> Result
  ) rethrows -> Result {
    try withLockUnchecked(body)
  }

  /// Runs `body` with the lock held if it is free; returns nil otherwise.
  public func withLockIfAvailableUnchecked<Result>(
    _ body: (inout State) throws -> Result
  ) rethrows -> Result? {
    guard pthread_mutex_trylock(storage.mutex) == 0 else { return nil }
    defer { storage.unlock() }
    return try body(&storage.state)
  }

  /// Runs `body` with the lock held if it is free; returns nil otherwise.
  public func withLockIfAvailable<Result: Sendable>(
    _ body: @Sendable (inout State) throws -> Result
  ) rethrows -> Result? {
    try withLockIfAvailableUnchecked(body)
  }

  /// Traps unless this thread holds, or does not hold, the lock.
  public func precondition(_ condition: Ownership) {
    // Only the owner's attempt fails with EDEADLK, at once.
    var past = timespec()
    let status = pthread_mutex_timedlock(storage.mutex, &past)
    if status == 0 { storage.unlock() }
    Swift.precondition((status == EDEADLK) == (condition == .owner), "the lock is not \(condition)")
  }
}

extension OSAllocatedUnfairLock where State: Sendable {
  public init(initialState: State) { self.init(uncheckedState: initialState) }
}

extension OSAllocatedUnfairLock where State == Void {
  public init() { self.init(uncheckedState: ()) }

  /// Waits for the lock. Traps if this thread already holds it.
  public func lock() { storage.lock() }
  /// Releases the lock. Traps if this thread does not hold it.
  public func unlock() { storage.unlock() }
  /// Acquires the lock if it is free.
  public func lockIfAvailable() -> Bool { pthread_mutex_trylock(storage.mutex) == 0 }

  /// Runs `body` with the lock held.
  public func withLock<Result: Sendable>(
    _ body: @Sendable () throws -> Result
  ) rethrows -> Result {
    try withLockUnchecked(body)
  }

  /// Runs `body` with the lock held.
  public func withLockUnchecked<Result>(_ body: () throws -> Result) rethrows -> Result {
    try withLockUnchecked { _ in try body() }
  }
}
