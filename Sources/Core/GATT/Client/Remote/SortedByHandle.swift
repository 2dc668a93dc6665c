import AttoATT

extension Array {
  /// The index of the last element whose handle is not after `handle`, in an array sorted by
  /// handle. nil if all are after it. A binary search.
  func lastIndex(
    upTo handle: AttributeHandle, by key: (Element) -> AttributeHandle
  ) -> Int? {
    let next = partitioningIndex { key($0) > handle }
    return next == 0 ? nil : next - 1
  }

  /// The elements sorted by handle. Returns the array itself if it is sorted.
  func sortedByHandle(_ key: (Element) -> AttributeHandle) -> [Element] {
    for index in indices.dropFirst() where key(self[index]) < key(self[index - 1]) {
      return sorted { key($0) < key($1) }
    }
    return self
  }

  /// Reserves capacity for more elements, so that a long response does not make the array grow
  /// several times. It at least doubles, so that many short responses cost no more.
  mutating func makeRoom(for more: Int) {
    if capacity - count < more { reserveCapacity(Swift.max(count + more, 2 * count)) }
  }
}
