import Glibc

/// A lock on the heap, with the state that it guards. Copies are the same lock.
///
/// `@unchecked Sendable`: the state is touched only between pthread_mutex_lock and
/// pthread_mutex_unlock of the storage that holds both. The functions whose names say so take
/// what is not Sendable on the word of the caller, as Apple's do.
public struct OSAllocatedUnfairLock<State>: @unchecked Sendable {
  /// The mutex never moves: it is in memory of its own.
  private final class Storage {
    let mutex: UnsafeMutablePointer<pthread_mutex_t>
    var state: State

    init(_ state: State) {
      self.state = state
      mutex = .allocate(capacity: 1)
      mutex.initialize(to: pthread_mutex_t())
      // One that is taken twice by a thread, or released by another, ends the program as
      // Apple's does, instead of hanging.
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
      Swift.precondition(status == 0, "this thread holds the lock already")
    }

    func unlock() {
      let status = pthread_mutex_unlock(mutex)
      Swift.precondition(status == 0, "this thread does not hold the lock")
    }
  }

  /// What ``precondition(_:)`` may ask.
  public enum Ownership: Hashable, Sendable { case owner, notOwner }

  private let storage: Storage

  public init(uncheckedState initialState: State) { storage = Storage(initialState) }

  /// Runs `body` with the lock. Traps if this thread has it already.
  public func withLockUnchecked<Result>(
    _ body: (inout State) throws -> Result
  ) rethrows -> Result {
    storage.lock()
    defer { storage.unlock() }
    return try body(&storage.state)
  }

  /// Runs `body` with the lock. Traps if this thread has it already.
  public func withLock<Result: Sendable>(
    _ body: @Sendable (inout State) throws -> Result
  ) rethrows -> Result {
    try withLockUnchecked(body)
  }

  /// Runs `body` with the lock if nobody has it; nil otherwise.
  public func withLockIfAvailableUnchecked<Result>(
    _ body: (inout State) throws -> Result
  ) rethrows -> Result? {
    guard pthread_mutex_trylock(storage.mutex) == 0 else { return nil }
    defer { storage.unlock() }
    return try body(&storage.state)
  }

  /// Runs `body` with the lock if nobody has it; nil otherwise.
  public func withLockIfAvailable<Result: Sendable>(
    _ body: @Sendable (inout State) throws -> Result
  ) rethrows -> Result? {
    try withLockIfAvailableUnchecked(body)
  }

  /// Traps unless this thread has, or has not, the lock.
  public func precondition(_ condition: Ownership) {
    // An owner is told from others by its own attempt, EDEADLK, which waits for nobody.
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

  /// Waits for the lock and takes it. Traps if this thread has it already.
  public func lock() { storage.lock() }
  /// Lets go of it. Traps if this thread does not have it.
  public func unlock() { storage.unlock() }
  /// Takes it if nobody has it.
  public func lockIfAvailable() -> Bool { pthread_mutex_trylock(storage.mutex) == 0 }

  /// Runs `body` with the lock.
  public func withLock<Result: Sendable>(
    _ body: @Sendable () throws -> Result
  ) rethrows -> Result {
    storage.lock()
    defer { storage.unlock() }
    return try body()
  }

  /// Runs `body` with the lock.
  public func withLockUnchecked<Result>(_ body: () throws -> Result) rethrows -> Result {
    storage.lock()
    defer { storage.unlock() }
    return try body()
  }
}
