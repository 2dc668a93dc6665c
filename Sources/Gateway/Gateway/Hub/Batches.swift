import AttoEventLoop

/// Values that arrived since the consumer asked last.
package struct Batch<Element: Sendable>: Sendable {
  /// How many values were dropped before the first one, because too many were waiting.
  package var missed: Int
  /// The values, oldest first; never empty.
  package var elements: [Element]
}

extension Batch: Equatable where Element: Equatable {}

/// Batches of values for one consumer, which gets all that wait at once. When ``limit`` values wait, the
/// oldest is dropped and counted.
package final class Batches<Element: Sendable>: AsyncSequence, Sendable {
  package typealias Failure = Never

  private let queue: LoopBound<BatchQueue<Element>>
  private let onEnd: @Sendable () -> Void

  /// - Parameter onEnd: called on any thread when the sequence is released.
  init(_ queue: BatchQueue<Element>, on loop: Loop, onEnd: @escaping @Sendable () -> Void = {}) {
    self.queue = LoopBound(queue, loop)
    self.onEnd = onEnd
  }

  deinit { onEnd() }

  package func makeAsyncIterator() -> Iterator { Iterator(batches: self) }

  package struct Iterator: AsyncIteratorProtocol {
    fileprivate let batches: Batches

    /// The values that wait, or the next one; nil at the end and when the task is cancelled.
    package func next() async -> Batch<Element>? { await batches.next() }

    package func next(isolation actor: isolated (any Actor)?) async -> Batch<Element>? {
      await batches.next()
    }
  }

  /// The values that wait, or the next one; nil at the end, when the task is cancelled, and if none
  /// arrives in this time.
  package func next(within time: Duration? = nil) async -> Batch<Element>? {
    let queue = queue
    let batch: Batch<Element>?? = try? await queue.loop.withWaiter {
      (waiter: Waiter<Batch<Element>?, GatewayError>) in
      queue.value.receive(waiter)
      if let time { waiter.end(.success(nil), after: time) }
    }
    return batch ?? nil
  }
}

/// The end at which values are added. The loop's thread only.
final class BatchQueue<Element: Sendable> {
  /// Values that may wait.
  let limit: Int
  /// Dropped values, in all.
  private(set) var dropped = 0
  private var missed = 0
  private var elements: [Element] = []
  /// The first element that is still there. Dropping an element must not move the others.
  private var head = 0
  private var waiter: Waiter<Batch<Element>?, GatewayError>?
  private var hasEnded = false
  /// Called when the consumer has received all that waited, and when the sequence has ended.
  var whenReceived: (() -> Void)?
  /// Values that wait.
  var count: Int { elements.count - head }

  init(limit: Int) { self.limit = limit }

  /// - Returns: false if the oldest value was dropped for this one.
  @discardableResult func add(_ element: Element) -> Bool {
    guard !hasEnded else { return true }
    let hasRoom = count < limit
    if !hasRoom {
      head += 1
      missed += 1
      dropped += 1
      if head >= limit {
        elements.removeFirst(head)
        head = 0
      }
    }
    elements.append(element)
    deliver()
    return hasRoom
  }

  /// Ends the sequence, after the values that wait.
  func end() {
    hasEnded = true
    deliver()
    whenReceived?()
  }

  func receive(_ waiter: Waiter<Batch<Element>?, GatewayError>) {
    self.waiter?.resume(.success(nil))
    self.waiter = waiter
    waiter.whenCancelled = { [weak self] in self?.waiter = nil }
    deliver()
  }

  private func deliver() {
    guard let waiter else { return }
    guard elements.count > head else {
      if hasEnded { waiter.resume(.success(nil)) }
      return
    }
    self.waiter = nil
    let batch = Batch(missed: missed, elements: head == 0 ? elements : Array(elements[head...]))
    elements = []
    head = 0
    missed = 0
    waiter.resume(.success(batch))
    whenReceived?()
  }
}
