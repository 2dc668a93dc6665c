/// The identifier of a transaction. The owner of the bearer chooses the number.
public struct TransactionID: RawRepresentable, Hashable, Sendable {
  public let rawValue: UInt64
  public init(rawValue: UInt64) { self.rawValue = rawValue }
}

/// The result of queueing a transaction.
public enum Enqueued: Equatable, Sendable {
  /// It is queued; ``Bearer/nextRequest()`` or ``Bearer/nextIndication()`` will return it, perhaps
  /// immediately.
  case waiting
  /// The queue is full.
  case refused(limit: Int)
  /// The bearer has failed.
  case dead(BearerFailure)
}

/// A slot for one transaction at a time, with a queue of those that wait for it. Vol 3, Part F,
/// 3.3.2.
///
/// States: free -> granted (the owner encodes) -> in flight (waits for the peer) -> free. A
/// transaction that is cancelled in flight keeps the slot, because the peer will still answer; the
/// answer is ignored.
@usableFromInline struct TransactionSlot {
  @usableFromInline enum State: Equatable {
    case free
    case granted(TransactionID)
    case inFlight(TransactionID, Opcode, deadline: Instant, isAbandoned: Bool)
  }

  @usableFromInline var state = State.free
  /// The first transaction of the queue. The others are in `waiting`, from index `first` on.
  /// Usually there are no others, and the array is not used.
  @usableFromInline var next: TransactionID?
  private var waiting: [TransactionID] = []
  private var first = 0
  let limit: Int

  init(limit: Int) { self.limit = limit }

  @inlinable var deadline: Instant? {
    if case .inFlight(_, _, let deadline, _) = state { deadline } else { nil }
  }

  /// The opcode of the transaction in flight.
  @inlinable var opcodeInFlight: Opcode? {
    if case .inFlight(_, let opcode, _, _) = state { opcode } else { nil }
  }

  mutating func enqueue(_ id: TransactionID, isContinuation: Bool = false) -> Enqueued {
    guard isContinuation || count < limit else { return .refused(limit: limit) }
    if next == nil { next = id } else { waiting.append(id) }
    return .waiting
  }

  /// Queues a transaction before all others, regardless of the limit.
  mutating func enqueueFirst(_ id: TransactionID) {
    if let next { waiting.insert(next, at: first) }
    next = id
  }

  /// Grants the slot, if it is free, to the first transaction of the queue.
  mutating func grantNext() -> TransactionID? {
    guard let id = next, case .free = state else { return nil }
    state = .granted(id)
    moveUp()
    return id
  }

  /// The length of the queue.
  private var count: Int { next == nil ? 0 : 1 + waiting.count - first }

  /// Whether ``grantNext()`` would grant the slot.
  @inlinable var canGrant: Bool {
    guard next != nil, case .free = state else { return false }
    return true
  }

  /// Removes the first transaction of the queue.
  private mutating func moveUp() {
    next = nil
    guard first < waiting.count else { return }
    next = waiting[first]
    first += 1
    if first == waiting.count {
      waiting.removeAll(keepingCapacity: true)
      first = 0
    } else if first >= 32 {
      waiting.removeFirst(first)
      first = 0
    }
  }

  @usableFromInline mutating func transmit(_ id: TransactionID, _ opcode: Opcode, deadline: Instant)
  {
    precondition(state == .granted(id), "the slot was not granted to this transaction")
    state = .inFlight(id, opcode, deadline: deadline, isAbandoned: false)
  }

  /// Releases a granted slot without sending.
  mutating func release(_ id: TransactionID) {
    precondition(state == .granted(id), "the slot was not granted to this transaction")
    state = .free
  }

  /// Ends the transaction in flight. Returns nil if it was cancelled.
  mutating func complete() -> TransactionID? {
    guard case .inFlight(let id, _, _, let isAbandoned) = state else { return nil }
    state = .free
    return isAbandoned ? nil : id
  }

  /// Returns whether the transaction is in flight.
  @discardableResult mutating func cancel(_ id: TransactionID) -> Bool {
    switch state {
    case .granted(id): state = .free
    case .inFlight(id, let opcode, let deadline, _):
      state = .inFlight(id, opcode, deadline: deadline, isAbandoned: true)
      return true
    default:
      if next == id {
        moveUp()
      } else if let index = waiting[first...].firstIndex(of: id) {
        waiting.remove(at: index)
      }
    }
    return false
  }

  /// Empties the queue and frees the slot.
  mutating func close() {
    state = .free
    next = nil
    waiting.removeAll()
    first = 0
  }
}
