import Foundation

/// A value behind a lock.
///
/// NSLock rather than Synchronization's Mutex: the thread sanitizer knows it, and it accepts values
/// that are not Sendable, such as the objects that an app works with.
///
/// `@unchecked Sendable`: `stored` is touched only while `lock` is held. Callers get a copy;
/// objects in it belong to this module and lock their own state.
final class Locked<Value>: @unchecked Sendable {
  private let lock = NSLock()
  private var stored: Value

  init(_ value: Value) { stored = value }

  var value: Value {
    get { lock.withLock { stored } }
    set {
      // The old value is released after unlocking: a deinit may use this object.
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

extension Locked<Int> {
  /// Adds a number and returns the sum.
  @discardableResult
  func add(_ number: Int) -> Int {
    withLock { value in
      value += number
      return value
    }
  }
}

/// A value on its way from one thread to another.
///
/// `@unchecked Sendable`: the content is an object of this module, whose state is constant or
/// ``Locked``, or a closure over such objects that one thread runs once.
struct UncheckedBox<Content>: @unchecked Sendable {
  let content: Content
  init(_ content: Content) { self.content = content }
}

/// A weak reference as a value.
struct WeakReference<Object: AnyObject> {
  weak var object: Object?
  init(_ object: Object? = nil) { self.object = object }
}

/// Runs a closure when the last reference to it is released.
final class ReleaseAction: Sendable {
  private let action: @Sendable () -> Void
  init(_ action: @escaping @Sendable () -> Void) { self.action = action }
  deinit { action() }
}
