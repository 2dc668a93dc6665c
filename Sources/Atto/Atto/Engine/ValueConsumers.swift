import AttoATT

/// The consumers of values that the peer sends unasked: queues, and one observer.
final class ValueConsumers {
  @exclusivity(unchecked) private(set) var queues: [ValueQueue] = []
  /// Called with each value, without a copy.
  @exclusivity(unchecked) var observer: ((AttributeHandle, RawSpan) -> Void)?
  /// Values that no consumer wanted.
  @exclusivity(unchecked) private(set) var unclaimed: UInt64 = 0

  /// Whether a consumer has as many values as it may hold.
  @inline(__always)
  var areFull: Bool { !queues.isEmpty && queues.contains(where: \.isFull) }

  /// Values that consumers have not taken yet.
  var waiting: Int { queues.reduce(0) { $0 + $1.count } }

  func add(_ queue: ValueQueue) { queues.append(queue) }

  func remove(_ queue: ValueQueue) { queues.removeAll { $0 === queue } }

  /// - Parameters:
  ///   - isLimited: whether a full queue may drop the value.
  ///   - time: read only for queues.
  func deliver(
    _ handle: AttributeHandle, _ value: RawSpan, isIndication: Bool, isLimited: Bool,
    at time: @autoclosure () -> Instant
  ) {
    observer?(handle, value)
    var isClaimed = observer != nil
    // By index, because `for` would retain the list. `offer` calls nothing that changes the list.
    var index = 0
    while index < queues.count {
      let queue = queues[index]
      index += 1
      guard queue.handle == nil || queue.handle == handle else { continue }
      queue.offer(handle, value, isIndication: isIndication, isLimited: isLimited, at: time())
      isClaimed = true
    }
    if !isClaimed { unclaimed += 1 }
  }

  /// No more values come; those that wait can still be received.
  func finish(_ error: AttoError?) {
    let queues = queues
    self.queues = []
    for queue in queues { queue.finish(error) }
  }
}
