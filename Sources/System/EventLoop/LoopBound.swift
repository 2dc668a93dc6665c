/// A value that any thread may hold, but that is accessible only on a loop's thread.
///
/// `@unchecked Sendable`: `value` traps on every other thread, and a reference that is held there
/// is only counted, which is atomic. The value may be released on another thread.
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
  /// Inlinable because it is used for each value sent: unspecialised, it would copy with the help
  /// of the runtime.
  @inlinable public var value: Value { value(in: "a value of the loop") }

  /// The value, for `function`; traps off the loop's thread with a message that names it.
  @inlinable public func value(in function: StaticString) -> Value {
    if !loop.isCurrent { loop.refuse(function) }
    return stored
  }

  /// The result of `body` if the calling thread is the loop's; nil elsewhere.
  @inlinable public func here<R>(_ body: (Value) -> R?) -> R? {
    loop.isCurrent ? body(stored) : nil
  }

  /// The value if the calling thread is the loop's; nil elsewhere.
  @inlinable public var valueHere: Value? { loop.isCurrent ? stored : nil }
}

extension Actor {
  /// Calls `body` at once, for callers on the loop that is this actor's executor. Traps elsewhere.
  /// Unlike `assumeIsolated` it may be called in asynchronous functions.
  ///
  /// Inlinable because its callers are in other modules. A body that captures something still costs an
  /// allocation: what each value passes is better a function that no actor isolates.
  @inlinable package nonisolated func here<Result: Sendable>(
    _ body: (isolated Self) -> Result
  ) -> Result {
    assumeIsolated(body)
  }
}
