import Atto

/// The values that a command reads or writes.
package struct CommandAccess: Sendable {
  /// nil for any, as those that are named by UUIDs.
  let handles: [AttributeHandle]?
  let isWrite: Bool

  /// The values that are named by these words.
  package init(_ words: some Sequence<String>, isWrite: Bool) {
    self.isWrite = isWrite
    let named = words.map { try? AttributeReference(argument: $0).handle }
    handles = named.contains(nil) ? nil : named.compactMap(\.self)
  }

  private init(_ handles: [AttributeHandle]?, isWrite: Bool) {
    (self.handles, self.isWrite) = (handles, isWrite)
  }

  /// The access of a command that only discovers.
  package static let none = CommandAccess([], isWrite: false)
  /// The access of a command that may read all values.
  package static let readsAll = CommandAccess(nil, isWrite: false)

  /// Whether the order of the two matters.
  package func conflicts(with other: CommandAccess) -> Bool {
    guard isWrite || other.isWrite else { return false }
    guard let handles, let others = other.handles else { return true }
    return handles.contains(where: others.contains)
  }
}
