import AttoATT

extension Array {
  /// The index of the last element whose handle is not after `handle`, in an array sorted by
  /// handle. nil if all are after it. A binary search.
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

  /// The elements sorted by handle. Returns the array itself if it is sorted.
  func sortedByHandle(_ key: (Element) -> AttributeHandle) -> [Element] {
    for index in indices.dropFirst() where key(self[index]) < key(self[index - 1]) {
      return sorted { key($0) < key($1) }
    }
    return self
  }

  /// An array whose elements a body appends to a span, at most as many as its capacity.
  ///
  /// The initializer of the standard library that does this allocates in a function that is not
  /// specialized, which costs 700 instructions.
  static func make(
    capacity: Int, _ body: (inout OutputSpan<Element>) -> Void
  ) -> [Element] {
    var array: [Element] = []
    array.append(addingCapacity: capacity, initializingWith: body)
    return array
  }

  /// Reserves capacity for more elements, so that a long response does not make the array grow
  /// several times. It at least doubles, so that many short responses cost no more.
  mutating func makeRoom(for more: Int) {
    if capacity - count < more { reserveCapacity(Swift.max(count + more, 2 * count)) }
  }
}
