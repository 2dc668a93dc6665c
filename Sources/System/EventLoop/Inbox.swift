import Glibc

/// Work from other threads.
///
/// It uses a pthread mutex because ThreadSanitizer does not understand Synchronization's Mutex and
/// reports each use of it as a race.
///
/// `@unchecked Sendable`: `work` is touched only while `lock` is held. Both are behind pointers
/// because a mutex must not move; they are freed with this value.
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

  /// Exchanges the work for `other`, whose storage is used from now on.
  func exchange(with other: inout [Work]) {
    pthread_mutex_lock(lock)
    swap(&work.pointee, &other)
    pthread_mutex_unlock(lock)
  }
}
