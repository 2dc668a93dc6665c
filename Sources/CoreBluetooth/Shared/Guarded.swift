import Foundation

/// A value behind a lock.
///
/// NSLock rather than Synchronization's Mutex: the thread sanitizer knows it, and it takes values
/// that are not Sendable, as the objects are that an app works with.
///
/// `@unchecked Sendable`: `stored` is touched only while `lock` is held. What is given out is a
/// copy; objects in it are the module's own, which guard themselves alike.
final class Guarded<Value>: @unchecked Sendable {
  private let lock = NSLock()
  private var stored: Value

  init(_ value: Value) { stored = value }

  var value: Value {
    get { lock.withLock { stored } }
    set {
      // The former value is let go after the lock: what ends with it may look here.
      var other = newValue
      lock.withLock { swap(&stored, &other) }
    }
  }

  func withLock<Result>(_ body: (inout Value) -> Result) -> Result {
    lock.lock()
    defer { lock.unlock() }
    return body(&stored)
  }
}

/// A reference that holds nobody.
struct WeakReference<Object: AnyObject> {
  weak var object: Object?
  init(_ object: Object? = nil) { self.object = object }
}
