import AttoATT

/// The bearers on which the commands or the values of attributes are sent, so that those of one
/// attribute keep their order.
struct HandleAssignments {
  private var entries: [(handle: AttributeHandle, bearer: UInt8)] = []

  func bearer(of handle: AttributeHandle) -> UInt8? {
    let index = index(of: handle)
    return index < entries.count && entries[index].handle == handle ? entries[index].bearer : nil
  }

  /// What `body` returns for the bearer of the first attribute of a range for which that is not nil.
  func first<Result>(in range: HandleRange, _ body: (UInt8) -> Result?) -> Result? {
    for entry in entries[index(of: range.start)...] where entry.handle <= range.end {
      if let result = body(entry.bearer) { return result }
    }
    return nil
  }

  mutating func assign(_ handle: AttributeHandle, to bearer: UInt8) {
    let index = index(of: handle)
    if index < entries.count, entries[index].handle == handle {
      entries[index].bearer = bearer
    } else {
      entries.insert((handle, bearer), at: index)
    }
  }

  /// The number of attributes of a bearer.
  func count(of bearer: UInt8) -> Int { entries.count { $0.bearer == bearer } }

  /// Forgets a bearer that has ended.
  mutating func forget(_ bearer: UInt8) { entries.removeAll { $0.bearer == bearer } }

  /// The index of the first entry with this handle or a later one.
  private func index(of handle: AttributeHandle) -> Int {
    entries.partitioningIndex { $0.handle >= handle }
  }
}
