/// Lists with one element for each client, in the order of the clients' numbers. The order begins at
/// the number of the first element and goes on at 0 after the greatest one, so that it survives the
/// repetition of numbers.
///
/// Servers have thousands of clients: one that comes or goes costs O(log n), and a move of references
/// that are not counted.
extension Array {
  /// Where a client is, or belongs if it is not there.
  @inline(__always)
  package func place(of client: ClientID, by key: (Element) -> ClientID) -> Int {
    guard let first else { return 0 }
    let start = key(first).rawValue
    let wanted = client.rawValue &- start
    return partitioningIndex { key($0).rawValue &- start >= wanted }
  }

  /// The index of a client; nil if it is not there.
  @inline(__always)
  package func index(of client: ClientID, by key: (Element) -> ClientID) -> Int? {
    let place = place(of: client, by: key)
    return place < count && key(self[place]) == client ? place : nil
  }
}
