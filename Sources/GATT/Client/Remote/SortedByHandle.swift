import ATT

extension Array {
  /// The last element whose handle is not after `handle`, in an array sorted by handle; nil if
  /// all are after it. Takes as many steps as the count has binary digits.
  func lastIndex(
    upTo handle: AttributeHandle, by key: (Element) -> AttributeHandle
  ) -> Int? {
    var low = 0
    var high = count
    while low < high {
      let middle = low + (high - low) / 2
      if key(self[middle]) <= handle { low = middle + 1 } else { high = middle }
    }
    return low == 0 ? nil : low - 1
  }

  /// The elements in the order of their handles; the array itself, which costs one look at each,
  /// if that is how they stand.
  func sortedByHandle(_ key: (Element) -> AttributeHandle) -> [Element] {
    for index in indices.dropFirst() where key(self[index]) < key(self[index - 1]) {
      return sorted { key($0) < key($1) }
    }
    return self
  }

  /// Has room for some more, so that a response that lists many does not have the array grow with
  /// each doubling. It still doubles at the least, so that many small responses cost no more.
  mutating func makeRoom(for more: Int) {
    if capacity - count < more { reserveCapacity(Swift.max(count + more, 2 * count)) }
  }
}
