/// Callers that wait for results of one kind, in order of arrival, each with a key that says what
/// it waits for. `Void` where all wait for the same. Used on one loop's thread.
///
/// A waiter that is resumed otherwise, by its timeout or by cancellation, leaves the list by
/// itself. The owner of a list resumes its waiters before it releases the list.
public final class WaiterList<Key, Value: Sendable, Failure: WaitError>: WaiterHolder {
  /// A waiter of the list.
  public typealias Element = Waiter<Value, Failure>
  @usableFromInline @exclusivity(unchecked) var entries: [(key: Key, waiter: Element)] = []

  /// Called when a waiter has left by itself, because of its timeout or its cancellation.
  public var whenOneLeft: (() -> Void)?

  /// An empty list.
  public init() {}

  /// Whether the list is empty.
  @inlinable public var isEmpty: Bool { entries.isEmpty }

  /// The key of the first waiter.
  @inlinable public var firstKey: Key? { entries.first?.key }

  /// Adds a waiter at the end.
  @inlinable public func append(_ waiter: Element, for key: Key) {
    waiter.list = self
    entries.append((key, waiter))
  }

  /// Resumes the first waiter. Returns false if there is none.
  @inlinable @discardableResult public func resumeFirst(
    _ result: @autoclosure () -> Result<Value, Failure>
  ) -> Bool {
    guard !entries.isEmpty else { return false }
    let waiter = entries.removeFirst().waiter
    waiter.list = nil
    waiter.resume(result())
    return true
  }

  /// Resumes all waiters with the same result.
  @inlinable public func resumeAll(_ result: @autoclosure () -> Result<Value, Failure>) {
    guard !entries.isEmpty else { return }
    resume(result()) { _ in true }
  }

  /// Resumes the waiters whose keys satisfy a condition.
  public func resume(_ result: Result<Value, Failure>, where isChosen: (Key) -> Bool) {
    var chosen: [Element] = []
    entries.removeAll { entry in
      guard isChosen(entry.key) else { return false }
      entry.waiter.list = nil
      chosen.append(entry.waiter)
      return true
    }
    for waiter in chosen { waiter.resume(result) }
  }

  @usableFromInline func remove(_ waiter: AnyObject) {
    entries.removeAll { $0.waiter === waiter }
    whenOneLeft?()
  }
}

extension WaiterList where Key == Void {
  /// Adds a waiter at the end.
  @inlinable public func append(_ waiter: Element) { append(waiter, for: ()) }
}
