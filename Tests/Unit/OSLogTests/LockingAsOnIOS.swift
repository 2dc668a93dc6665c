// The same with the other module name.
import Foundation
import os

/// As libraries wrap it.
final class UnfairLock: @unchecked Sendable {
  private let lock: os_unfair_lock_t
  private(set) var count = 0

  init() {
    lock = .allocate(capacity: 1)
    lock.initialize(to: os_unfair_lock())
  }

  deinit {
    lock.deinitialize(count: 1)
    lock.deallocate()
  }

  func increment() {
    os_unfair_lock_lock(lock)
    defer { os_unfair_lock_unlock(lock) }
    os_unfair_lock_assert_owner(lock)
    count += 1
  }

  /// Whether it can be locked twice.
  func triesTwice() -> (first: Bool, second: Bool) {
    let first = os_unfair_lock_trylock(lock)
    defer { os_unfair_lock_unlock(lock) }
    return (first, os_unfair_lock_trylock(lock))
  }

  func locksTwice() {
    os_unfair_lock_lock(lock)
    os_unfair_lock_lock(lock)
  }

  func unlocks() { os_unfair_lock_unlock(lock) }
}

struct Session {
  let lock = OSAllocatedUnfairLock(initialState: [String: Int]())
  let signposter = OSSignposter(subsystem: "com.example.monitor", category: .pointsOfInterest)

  func count(_ name: String) -> Int {
    let state = signposter.beginInterval("count", id: signposter.makeSignpostID())
    defer { signposter.endInterval("count", state) }
    os_signpost(.event, log: .default, name: "counted", "%d", 1)
    return lock.withLock { counts in
      counts[name, default: 0] += 1
      return counts[name]!
    }
  }
}
