import CLinux

/// What a resumer has done is there when its waiter goes on: a continuation puts the one before the
/// other, by an atomic in the runtime's own library, which is not built with ThreadSanitizer. Told
/// nothing, that takes every result which reaches a task on another thread for a race. So a build
/// for it (`Tests/run thread`) is told of this one order, and every other still has to be there.
enum HandOver {
  /// Before a waiter is resumed.
  @inline(__always) static func done(_ object: AnyObject) {
    #if THREAD_SANITIZER
      __tsan_release(Unmanaged.passUnretained(object).toOpaque())
    #endif
  }

  /// When it goes on.
  @inline(__always) static func taken(_ object: AnyObject) {
    #if THREAD_SANITIZER
      __tsan_acquire(Unmanaged.passUnretained(object).toOpaque())
    #endif
  }
}
