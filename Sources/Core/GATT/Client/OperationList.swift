import AttoATT

/// The operations of a session that have not ended, and which of them uses the prepare queue.
///
/// A server has one prepare queue for each client. Two operations that prepare writes at the same
/// time would mix their parts, and the first to execute or cancel would decide for both. So such
/// operations run one after another: `holder` is the one that runs, and the others wait in this
/// list instead of in the bearer.
struct OperationList {
  typealias Entry = (id: TransactionID, operation: ClientOperation)

  private var entries: [Entry] = []
  private var holder: TransactionID?
  private var waiting: [Entry] = []

  var count: Int { entries.count + waiting.count }
  /// Whether an operation uses the prepare queue.
  var isPreparing: Bool { holder != nil }

  /// Whether an operation must not be overtaken by one that accesses these values.
  func conflicts(with footprint: Footprint) -> Bool {
    entries.contains { footprint.conflicts(with: $0.operation.footprint) }
      || waiting.contains { footprint.conflicts(with: $0.operation.footprint) }
  }

  /// Whether an operation runs while no other may.
  var hasExclusive: Bool { entries.contains { $0.operation.footprint?.isExclusive == true } }

  /// Adds an operation. Returns false if it must wait for the prepare queue: then it must not be
  /// queued at the bearer until `release` returns it.
  mutating func admit(_ id: TransactionID, _ operation: ClientOperation) -> Bool {
    if operation.preparesWrites {
      guard holder == nil else {
        waiting.append((id, operation))
        return false
      }
      holder = id
    }
    entries.append((id, operation))
    return true
  }

  /// The operation with this identifier, unless it waits for the prepare queue.
  func operation(_ id: TransactionID) -> ClientOperation? {
    entries.first { $0.id == id }?.operation
  }

  /// Removes an operation, at least while it is called.
  mutating func remove(_ id: TransactionID) -> ClientOperation? {
    // Usually it is the only one.
    if entries.last?.id == id { return entries.removeLast().operation }
    guard let index = entries.firstIndex(where: { $0.id == id }) else { return nil }
    return entries.remove(at: index).operation
  }

  /// Adds an operation again that continues.
  mutating func putBack(_ id: TransactionID, _ operation: ClientOperation) {
    entries.append((id, operation))
  }

  /// Removes an operation that waits for the prepare queue.
  mutating func removeWaiting(_ id: TransactionID) -> ClientOperation? {
    guard let index = waiting.firstIndex(where: { $0.id == id }) else { return nil }
    return waiting.remove(at: index).operation
  }

  /// Releases the prepare queue after an operation has ended. Returns the operation that starts
  /// now.
  mutating func release(_ id: TransactionID) -> Entry? {
    guard holder == id else { return nil }
    holder = nil
    guard !waiting.isEmpty else { return nil }
    let next = waiting.removeFirst()
    holder = next.id
    entries.append(next)
    return next
  }

  /// Whether the list has this operation.
  func contains(_ id: TransactionID?) -> Bool {
    entries.contains { $0.id == id } || waiting.contains { $0.id == id }
  }

  /// Removes and returns all operations.
  mutating func removeAll() -> [Entry] {
    defer { self = OperationList() }
    return entries + waiting
  }
}
