import Glibc

/// Work that other threads have handed over.
///
/// A pthread mutex rather than Synchronization's Mutex: the thread sanitizer knows what the
/// former means, and reports every use of the latter as a race.
///
/// `@unchecked Sendable`: `work` is touched only while `lock` is held. Both live behind pointers,
/// since a mutex must not move and the owner is shared; they end with this value.
struct Inbox: ~Copyable, @unchecked Sendable {
  private let lock: UnsafeMutablePointer<pthread_mutex_t>
  private let work: UnsafeMutablePointer<[Work]>

  init() {
    lock = .allocate(capacity: 1)
    lock.initialize(to: pthread_mutex_t())
    let result = pthread_mutex_init(lock, nil)
    precondition(result == 0, "no mutex")
    work = .allocate(capacity: 1)
    work.initialize(to: [])
  }

  deinit {
    pthread_mutex_destroy(lock)
    lock.deallocate()
    work.deinitialize(count: 1)
    work.deallocate()
  }

  func append(_ new: consuming Work) {
    pthread_mutex_lock(lock)
    work.pointee.append(new)
    pthread_mutex_unlock(lock)
  }

  /// Exchanges what is here for `other`, whose storage is used from now on.
  func exchange(with other: inout [Work]) {
    pthread_mutex_lock(lock)
    swap(&work.pointee, &other)
    pthread_mutex_unlock(lock)
  }
}
