import ATT

/// The operations of a session that have not ended, and who of them has the prepare queue.
///
/// A server keeps one prepare queue for each client, so two operations that prepare writes at
/// the same time would mix their parts, and the first to execute or cancel would decide for
/// both. Such operations have it one after another: `holder` names the one whose turn it is,
/// the others wait here and not at the bearer.
struct OperationList {
  typealias Entry = (id: TransactionID, operation: ClientOperation)

  private var entries: [Entry] = []
  private var holder: TransactionID?
  private var waiting: [Entry] = []

  var count: Int { entries.count + waiting.count }

  /// Takes an operation on. False if it has to wait for the prepare queue: it must not be
  /// queued at the bearer then, until `release` returns it.
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

  /// The operation that is about to send.
  func operation(_ id: TransactionID) -> ClientOperation? {
    entries.first { $0.id == id }?.operation
  }

  /// Takes an operation off the list, for as long as it is told of something.
  mutating func take(_ id: TransactionID) -> ClientOperation? {
    // The one that answers come for is most often the only one.
    if entries.last?.id == id { return entries.removeLast().operation }
    guard let index = entries.firstIndex(where: { $0.id == id }) else { return nil }
    return entries.remove(at: index).operation
  }

  /// Puts an operation that goes on back.
  mutating func putBack(_ id: TransactionID, _ operation: ClientOperation) {
    entries.append((id, operation))
  }

  /// Takes off an operation that waits for the prepare queue.
  mutating func takeWaiting(_ id: TransactionID) -> ClientOperation? {
    guard let index = waiting.firstIndex(where: { $0.id == id }) else { return nil }
    return waiting.remove(at: index).operation
  }

  /// An operation has ended. Returns the one that has the prepare queue now and begins.
  mutating func release(_ id: TransactionID) -> Entry? {
    guard holder == id else { return nil }
    holder = nil
    guard !waiting.isEmpty else { return nil }
    let next = waiting.removeFirst()
    holder = next.id
    entries.append(next)
    return next
  }

  /// Whether this operation has not ended.
  func contains(_ id: TransactionID?) -> Bool {
    entries.contains { $0.id == id } || waiting.contains { $0.id == id }
  }

  /// Empties the list.
  mutating func takeAll() -> [Entry] {
    defer { self = OperationList() }
    return entries + waiting
  }
}
