import AttoATT

/// The attributes sorted by handle, with an index by type.
///
/// Finding a handle takes O(1) if there are no gaps before it, otherwise O(log n). Finding a range
/// of attributes of a type takes O(log n). So the cost of a request hardly grows with the database.
struct AttributeTable {
  private(set) var attributes: [Attribute] = []
  /// The handles again, close together in memory for the search.
  private var handles: [AttributeHandle] = []
  /// Sorted by type. An array, because a database has few types.
  private var handlesByType: [(type: BluetoothUUID, handles: [AttributeHandle])] = []

  var count: Int { attributes.count }

  subscript(index: Int) -> Attribute {
    _read { yield attributes[index] }
    _modify { yield &attributes[index] }
  }

  /// The index of the attribute with this handle.
  func index(of handle: AttributeHandle) -> Int? {
    guard let first = handles.first, first <= handle else { return nil }
    // Without gaps before it, the handle itself gives the index.
    let guess = Int(handle.rawValue) - Int(first.rawValue)
    if guess < handles.count, handles[guess] == handle { return guess }
    let index = Self.lowerBound(handles, handle)
    return index < handles.count && handles[index] == handle ? index : nil
  }

  /// The index of the first attribute at or after this handle.
  func firstIndex(from handle: AttributeHandle) -> Int {
    guard let first = handles.first, first < handle else { return 0 }
    let guess = Int(handle.rawValue) - Int(first.rawValue)
    if guess < handles.count, handles[guess] == handle { return guess }
    return Self.lowerBound(handles, handle)
  }

  /// All handles of this type, in order.
  func handles(of type: BluetoothUUID) -> [AttributeHandle] {
    let place = place(of: type)
    guard place < handlesByType.count, handlesByType[place].type == type else { return [] }
    return handlesByType[place].handles
  }

  /// The index of the first type that is not before this one.
  private func place(of type: BluetoothUUID) -> Int {
    var low = 0
    var high = handlesByType.count
    while low < high {
      let middle = (low + high) / 2
      if handlesByType[middle].type < type { low = middle + 1 } else { high = middle }
    }
    return low
  }

  /// The index of the first handle in a sorted list that is not before the given one.
  static func lowerBound(_ list: [AttributeHandle], _ handle: AttributeHandle) -> Int {
    var low = 0
    var high = list.count
    while low < high {
      let middle = (low + high) / 2
      if list[middle] < handle { low = middle + 1 } else { high = middle }
    }
    return low
  }

  /// Inserts attributes with increasing handles into one gap of the table.
  mutating func insert(_ rows: [Attribute]) {
    guard let first = rows.first else { return }
    let index = firstIndex(from: first.handle)
    attributes.insert(contentsOf: rows, at: index)
    handles.insert(contentsOf: rows.map { $0.handle }, at: index)
    for row in rows {
      let place = place(of: row.type)
      if place == handlesByType.count || handlesByType[place].type != row.type {
        handlesByType.insert((row.type, []), at: place)
      }
      let index = Self.lowerBound(handlesByType[place].handles, row.handle)
      handlesByType[place].handles.insert(row.handle, at: index)
    }
  }

  /// Removes all attributes of a range.
  mutating func remove(_ range: HandleRange) {
    let start = firstIndex(from: range.start)
    var end = start
    while end < handles.count, handles[end] <= range.end {
      let place = place(of: attributes[end].type)
      let index = Self.lowerBound(handlesByType[place].handles, handles[end])
      handlesByType[place].handles.remove(at: index)
      if handlesByType[place].handles.isEmpty { handlesByType.remove(at: place) }
      end += 1
    }
    attributes.removeSubrange(start..<end)
    handles.removeSubrange(start..<end)
  }
}
