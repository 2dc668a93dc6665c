/// Names a transaction for as long as it lives. The bearer's owner chooses the number.
public struct TransactionID: RawRepresentable, Hashable, Sendable {
  public let rawValue: UInt64
  public init(rawValue: UInt64) { self.rawValue = rawValue }
}

/// What became of the wish to begin a transaction.
public enum Enqueued: Equatable, Sendable {
  /// It is in the queue; `nextRequest` or `nextIndication` will name it, maybe at once.
  case waiting
  /// As many transactions wait as the limit allows.
  case refused(limit: Int)
  /// The bearer is dead.
  case dead(BearerFailure)
}

/// Sequential transactions: one on the wire, the others behind it in order. Vol 3, Part F,
/// 3.3.2.
///
/// States: free -> granted (its owner encodes) -> in flight (waits for the peer) -> free.
/// A transaction that is cancelled in flight leaves the slot taken, because the peer will
/// still answer; the answer is then dropped.
@usableFromInline struct TransactionSlot {
  @usableFromInline enum State: Equatable {
    case free
    case granted(TransactionID)
    case inFlight(TransactionID, Opcode, deadline: Instant, isAbandoned: Bool)
  }

  @usableFromInline var state = State.free
  /// The one that waits longest; the others, behind it, are in `waiting` from `first` on. Most of
  /// the time nobody else waits, and then no list is touched.
  @usableFromInline var next: TransactionID?
  private var waiting: [TransactionID] = []
  private var first = 0
  let limit: Int

  init(limit: Int) { self.limit = limit }

  @inlinable var deadline: Instant? {
    if case .inFlight(_, _, let deadline, _) = state { deadline } else { nil }
  }

  /// What is on the wire.
  @inlinable var opcodeInFlight: Opcode? {
    if case .inFlight(_, let opcode, _, _) = state { opcode } else { nil }
  }

  mutating func enqueue(_ id: TransactionID, isContinuation: Bool = false) -> Enqueued {
    guard isContinuation || count < limit else { return .refused(limit: limit) }
    if next == nil { next = id } else { waiting.append(id) }
    return .waiting
  }

  /// Puts a transaction before all that wait, whatever the limit says.
  mutating func enqueueFirst(_ id: TransactionID) {
    if let next { waiting.insert(next, at: first) }
    next = id
  }

  /// Grants the free slot to the one that waits longest.
  mutating func grantNext() -> TransactionID? {
    guard let id = next, case .free = state else { return nil }
    state = .granted(id)
    moveUp()
    return id
  }

  /// How many wait.
  private var count: Int { next == nil ? 0 : 1 + waiting.count - first }

  /// Whether ``grantNext()`` has something to grant.
  @inlinable var canGrant: Bool {
    guard next != nil, case .free = state else { return false }
    return true
  }

  /// The first of the others takes the place of the one that waited longest.
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

  /// Gives back a granted slot unused.
  mutating func release(_ id: TransactionID) {
    precondition(state == .granted(id), "the slot was not granted to this transaction")
    state = .free
  }

  /// The answer has come: who waited for it, or nil if it was abandoned.
  mutating func complete() -> TransactionID? {
    guard case .inFlight(let id, _, _, let isAbandoned) = state else { return nil }
    state = .free
    return isAbandoned ? nil : id
  }

  mutating func cancel(_ id: TransactionID) {
    switch state {
    case .granted(id): state = .free
    case .inFlight(id, let opcode, let deadline, _):
      state = .inFlight(id, opcode, deadline: deadline, isAbandoned: true)
    default:
      if next == id {
        moveUp()
      } else if let index = waiting[first...].firstIndex(of: id) {
        waiting.remove(at: index)
      }
    }
  }

  /// Nothing more will be granted.
  mutating func close() {
    state = .free
    next = nil
    waiting.removeAll()
    first = 0
  }
}
