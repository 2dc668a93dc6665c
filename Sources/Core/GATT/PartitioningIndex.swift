extension Array {
  /// The index of the first element for which `belongsInSecondPart` is true, where it is false for all
  /// before that one and true for all after it; `count` if there is none. A binary search.
  @inline(__always)
  func partitioningIndex(where belongsInSecondPart: (Element) -> Bool) -> Int {
    var low = 0
    var high = count
    while low < high {
      let middle = low + (high - low) / 2
      if belongsInSecondPart(self[middle]) { high = middle } else { low = middle + 1 }
    }
    return low
  }
}
