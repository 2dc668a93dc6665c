import EventLoop

/// A value that may be carried anywhere but touched only on a loop's thread.
///
/// `@unchecked Sendable`: `value` traps on every other thread, and a reference that is carried
/// along is only counted, which is atomic. Values must bear to be released on another thread.
struct LoopBound<Value>: @unchecked Sendable {
  private let stored: Value
  let loop: Loop

  init(_ value: Value, _ loop: Loop) {
    stored = value
    self.loop = loop
  }

  var value: Value {
    precondition(loop.isCurrent, "touched off the thread of loop \(loop.name)")
    return stored
  }
}
