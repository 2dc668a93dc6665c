import AttoATT

/// The attributes sorted by handle, with an index by type.
///
/// Finding a handle takes O(1) if there are no gaps before it, otherwise O(log n). Finding a range
/// of attributes of a type takes O(log n). So the cost of a request hardly grows with the database.
struct AttributeTable {
  private(set) var attributes: [Attribute] = []
  /// The handles again, close together in memory for the search, each with its type.
  private var entries: [Entry] = []
  /// Sorted by type. An array, because a database has few types.
  private var handlesByType: [(type: BluetoothUUID, handles: [AttributeHandle])] = []

  /// The handle of an attribute in the upper half, so that entries are sorted by it, and in the lower
  /// half its type; 0x0000 if that has no 16-bit form.
  private typealias Entry = UInt32

  /// The first entry that an attribute with this handle can have.
  @inline(__always)
  private static func entry(_ handle: AttributeHandle, _ type: UInt16 = 0) -> Entry {
    Entry(handle.rawValue) << 16 | Entry(type)
  }

  @inline(__always)
  private func handle(at index: Int) -> AttributeHandle {
    AttributeHandle(UInt16(truncatingIfNeeded: entries[index] >> 16))
  }

  var count: Int { attributes.count }

  subscript(index: Int) -> Attribute {
    _read { yield attributes[index] }
    _modify { yield &attributes[index] }
  }

  /// What a characteristic declaration says; nil if the attribute is none.
  @inline(__always)
  func declaration(at index: Int) -> CharacteristicDeclarationValue? {
    guard let properties = attributes[index].declaredProperties else { return nil }
    return CharacteristicDeclarationValue(
      properties: properties, valueHandle: handle(at: index + 1), uuid: attributes[index + 1].type)
  }

  /// The value that the database holds for all clients; nil if there is none.
  func sharedValue(at index: Int) -> [UInt8]? {
    switch attributes[index].storage {
    case .constant(let octets), .stored(let octets, _): octets
    case .characteristic: declaration(at: index)?.octets
    case .application, .configuration, .clientSupportedFeatures, .databaseHash: nil
    }
  }

  /// The index of the attribute with this handle.
  func index(of handle: AttributeHandle) -> Int? {
    guard !entries.isEmpty else { return nil }
    // Without gaps before it, the handle itself gives the index.
    let guess = Int(handle.rawValue) - Int(self.handle(at: 0).rawValue)
    if guess >= 0, guess < entries.count, self.handle(at: guess) == handle { return guess }
    return search(for: handle)
  }

  /// A function of its own, so that the usual case has no registers to save.
  @inline(never)
  private func search(for handle: AttributeHandle) -> Int? {
    let index = firstIndex(from: handle)
    return index < entries.count && self.handle(at: index) == handle ? index : nil
  }

  /// The index of the first attribute at or after this handle. A binary search.
  func firstIndex(from handle: AttributeHandle) -> Int {
    let first = Self.entry(handle)
    return entries.partitioningIndex { $0 >= first }
  }

  /// The index of the first attribute after this handle.
  func firstIndex(after handle: AttributeHandle) -> Int {
    let last = Self.entry(handle, .max)
    return entries.partitioningIndex { $0 > last }
  }

  /// Calls `body` with the handles and types of attributes from this index on, as long as the types have
  /// a form of 16 bits other than 0x0000 and `body` wants more.
  ///
  /// - Returns: the index after the last one that `body` has taken.
  @inline(__always)
  func shortTypes(
    from index: Int, through end: AttributeHandle, _ body: (AttributeHandle, UInt16) -> Bool
  ) -> Int {
    var index = index
    let last = Self.entry(end, .max)
    while index < entries.count, entries[index] <= last {
      let type = UInt16(truncatingIfNeeded: entries[index])
      guard type != 0, body(handle(at: index), type) else { break }
      index += 1
    }
    return index
  }

  /// All handles of this type, in order.
  func handles(of type: BluetoothUUID) -> [AttributeHandle] {
    let place = place(of: type)
    guard place < handlesByType.count, handlesByType[place].type == type else { return [] }
    return handlesByType[place].handles
  }

  /// The index of the first type that is not before this one.
  private func place(of type: BluetoothUUID) -> Int {
    handlesByType.partitioningIndex { $0.type >= type }
  }

  /// Inserts attributes with increasing handles into one gap of the table.
  mutating func insert(_ rows: [Attribute]) {
    guard let first = rows.first else { return }
    let index = firstIndex(from: first.handle)
    attributes.insert(contentsOf: rows, at: index)
    entries.insert(contentsOf: rows.map { Self.entry($0.handle, $0.type.short ?? 0) }, at: index)
    for row in rows {
      let place = place(of: row.type)
      if place == handlesByType.count || handlesByType[place].type != row.type {
        handlesByType.insert((row.type, []), at: place)
      }
      let index = handlesByType[place].handles.partitioningIndex { $0 >= row.handle }
      handlesByType[place].handles.insert(row.handle, at: index)
    }
  }

  /// Removes all attributes of a range.
  mutating func remove(_ range: HandleRange) {
    let indices = firstIndex(from: range.start)..<firstIndex(after: range.end)
    for index in indices {
      let place = place(of: attributes[index].type)
      let handle = handle(at: index)
      let position = handlesByType[place].handles.partitioningIndex { $0 >= handle }
      handlesByType[place].handles.remove(at: position)
      if handlesByType[place].handles.isEmpty { handlesByType.remove(at: place) }
    }
    attributes.removeSubrange(indices)
    entries.removeSubrange(indices)
  }
}
