import CAttoLinux

/// Tells ThreadSanitizer that what is done before a waiter is resumed is visible after it has
/// resumed.
///
/// Continuations guarantee this order with an atomic in the runtime's library, which is not built
/// with ThreadSanitizer. Without these calls it reports each result that reaches a task on another
/// thread as a race. They do nothing in other builds.
public enum HappensBefore {
  /// Call before the waiter is resumed.
  @inlinable @inline(__always) public static func release(_ object: AnyObject) {
    #if THREAD_SANITIZER
      __tsan_release(Unmanaged.passUnretained(object).toOpaque())
    #endif
  }

  /// Call after the waiter has resumed.
  @inlinable @inline(__always) public static func acquire(_ object: AnyObject) {
    #if THREAD_SANITIZER
      __tsan_acquire(Unmanaged.passUnretained(object).toOpaque())
    #endif
  }
}
