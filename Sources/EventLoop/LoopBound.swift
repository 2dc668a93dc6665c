/// A value that may be carried anywhere but touched only on a loop's thread.
///
/// `@unchecked Sendable`: `value` traps on every other thread, and a reference that is carried
/// along is only counted, which is atomic. Values must bear to be released on another thread.
public struct LoopBound<Value>: @unchecked Sendable {
  @usableFromInline let stored: Value
  /// The loop on whose thread the value may be touched.
  public let loop: Loop

  /// Binds a value to a loop.
  public init(_ value: Value, _ loop: Loop) {
    stored = value
    self.loop = loop
  }

  /// The value; traps off the loop's thread.
  ///
  /// Inlinable, because it is asked for each value sent: not specialised, it would copy by way of
  /// the runtime.
  @inlinable public var value: Value {
    precondition(loop.isCurrent, "touched off the thread of loop \(loop.name)")
    return stored
  }

  /// What `body` makes of the value if the calling thread is the loop's; nil elsewhere.
  @inlinable public func here<R>(_ body: (Value) -> R?) -> R? {
    loop.isCurrent ? body(stored) : nil
  }

  /// The value if the calling thread is the loop's; nil elsewhere.
  @inlinable public var valueHere: Value? { loop.isCurrent ? stored : nil }
}
