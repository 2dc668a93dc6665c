import ATT

/// The attributes in order of handle, and for each type the handles that have it.
///
/// A handle is found in O(1) while handles run without a gap, else in O(log n). A type is
/// found in O(1) and a range of its handles in O(log n), so that the cost of a request does
/// not grow with the database.
struct AttributeTable {
  private(set) var attributes: [Attribute] = []
  /// The same handles once more, close together, for the search.
  private var handles: [AttributeHandle] = []
  private var handlesByType: [BluetoothUUID: [AttributeHandle]] = [:]

  var count: Int { attributes.count }

  subscript(index: Int) -> Attribute {
    _read { yield attributes[index] }
    _modify { yield &attributes[index] }
  }

  /// Where the attribute with this handle stands.
  func index(of handle: AttributeHandle) -> Int? {
    guard let first = handles.first, first <= handle else { return nil }
    // With no gap before it, a handle stands as far from the first as its number says.
    let guess = Int(handle.rawValue) - Int(first.rawValue)
    if guess < handles.count, handles[guess] == handle { return guess }
    let index = Self.lowerBound(handles, handle)
    return index < handles.count && handles[index] == handle ? index : nil
  }

  /// Where the first attribute stands whose handle is not before this one.
  func firstIndex(from handle: AttributeHandle) -> Int {
    guard let first = handles.first, first < handle else { return 0 }
    let guess = Int(handle.rawValue) - Int(first.rawValue)
    if guess < handles.count, handles[guess] == handle { return guess }
    return Self.lowerBound(handles, handle)
  }

  /// All handles with this type, in order.
  func handles(of type: BluetoothUUID) -> [AttributeHandle] { handlesByType[type] ?? [] }

  /// Position in a sorted list of the first handle that is not before the given one.
  static func lowerBound(_ list: [AttributeHandle], _ handle: AttributeHandle) -> Int {
    var low = 0
    var high = list.count
    while low < high {
      let middle = (low + high) / 2
      if list[middle] < handle { low = middle + 1 } else { high = middle }
    }
    return low
  }

  /// Inserts attributes whose handles rise and stand together, in a gap of the table.
  mutating func insert(_ rows: [Attribute]) {
    guard let first = rows.first else { return }
    let index = firstIndex(from: first.handle)
    attributes.insert(contentsOf: rows, at: index)
    handles.insert(contentsOf: rows.map { $0.handle }, at: index)
    for row in rows {
      var list = handlesByType.removeValue(forKey: row.type) ?? []
      if let last = list.last, last < row.handle {
        list.append(row.handle)
      } else {
        list.insert(row.handle, at: Self.lowerBound(list, row.handle))
      }
      handlesByType[row.type] = list
    }
  }

  /// Removes all attributes of a range.
  mutating func remove(_ range: HandleRange) {
    let start = firstIndex(from: range.start)
    var end = start
    while end < handles.count, handles[end] <= range.end {
      let type = attributes[end].type
      if var list = handlesByType.removeValue(forKey: type) {
        list.remove(at: Self.lowerBound(list, handles[end]))
        if !list.isEmpty { handlesByType[type] = list }
      }
      end += 1
    }
    attributes.removeSubrange(start..<end)
    handles.removeSubrange(start..<end)
  }
}
