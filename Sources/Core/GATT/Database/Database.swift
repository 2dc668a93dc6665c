import AttoATT

/// The attributes of a server, in services. Vol 3, Part G, 2.6.
///
/// Services can be added and removed while clients are connected; ``Server`` informs the clients.
/// The database has the values of the server. The state of each client is in ``ServerClient``.
public struct Database: Sendable {
  var table = AttributeTable()
  /// Changes when a service is added or removed.
  public private(set) var revision: UInt32 = 0
  private var cachedHash: (revision: UInt32, hash: [UInt8])?

  /// Creates a database without services.
  public init() {}

  /// The number of attributes.
  public var count: Int { table.count }

  /// Adds a service.
  ///
  /// - Throws: why the service cannot have the handles of its definition. Then nothing was added.
  @discardableResult
  public mutating func add(_ service: ServiceDefinition) throws(DatabaseError) -> Layout {
    var rows = ServiceRows(next: freeHandle, limit: service.endHandle)
    let layout = try rows.lay(service, in: self)
    try checkGap(layout.range)
    for row in rows.rows { try checkLength(row) }
    table.insert(rows.rows)
    revision &+= 1
    return layout
  }

  /// Removes a service with all its attributes and returns its range.
  ///
  /// - Throws: `noSuchService` if there is no service declaration at this handle, `included` if
  ///   another service includes it. Then nothing has changed.
  @discardableResult
  public mutating func remove(
    service handle: AttributeHandle
  ) throws(DatabaseError) -> HandleRange {
    guard let index = table.index(of: handle), table[index].beginsService,
      let range = HandleRange(handle, table[index].groupEnd)
    else { throw .noSuchService(handle) }
    for include in table.handles(of: .include) where !range.contains(include) {
      guard let index = table.index(of: include), case .constant(let value) = table[index].storage
      else { continue }
      if AttributeHandle(UInt16(value[0]) | UInt16(value[1]) << 8) == handle {
        throw .included(by: service(containing: include) ?? include)
      }
    }
    table.remove(range)
    revision &+= 1
    return range
  }

  /// The declaration of the service that contains this attribute.
  public func service(containing handle: AttributeHandle) -> AttributeHandle? {
    var index = table.firstIndex(from: handle)
    if index == table.count || table[index].handle > handle { index -= 1 }
    while index >= 0 {
      if table[index].beginsService {
        return table[index].groupEnd >= handle ? table[index].handle : nil
      }
      index -= 1
    }
    return nil
  }

  /// The handle after the last service; nil if that ends at 0xFFFF.
  public var freeHandle: AttributeHandle? {
    var end: AttributeHandle?
    for type in [BluetoothUUID.primaryService, .secondaryService] {
      guard let last = table.handles(of: type).last, let index = table.index(of: last) else {
        continue
      }
      end = max(end ?? .min, table[index].groupEnd)
    }
    return end == nil ? .min : end?.next
  }

  /// The value that the database holds for an attribute; nil if there is none, or if it belongs to
  /// the application or to each client.
  public func value(of handle: AttributeHandle) -> [UInt8]? {
    table.index(of: handle).flatMap { table.sharedValue(at: $0) }
  }

  /// Replaces a value that the database holds. Permissions do not apply, because they are for
  /// clients.
  ///
  /// - Throws: `noSuchValue` if the database does not hold a value for the handle, `valueTooLong`
  ///   if the value exceeds its limits, `wrongLength` if its length is fixed at another one.
  public mutating func setValue(
    of handle: AttributeHandle, to value: [UInt8]
  ) throws(DatabaseError) {
    guard let index = table.index(of: handle) else { throw .noSuchValue(handle) }
    switch table[index].storage {
    case .stored(let former, let limits):
      guard !limits.isFixedLength || value.count == former.count else {
        throw .wrongLength(handle, value.count, fixed: former.count)
      }
      guard value.count <= limits.maximumLength else {
        throw .valueTooLong(handle, value.count, limit: limits.maximumLength)
      }
      table[index].storage = .stored(value, limits)
    case .constant where table[index].type != .databaseHash && !table[index].isDeclaration:
      guard value.count <= ValueLimits.longest else {
        throw .valueTooLong(handle, value.count, limit: ValueLimits.longest)
      }
      table[index].storage = .constant(value)
    default: throw .noSuchValue(handle)
    }
    // Extended Properties are the only value in the hash that can be set.
    if table[index].type == .characteristicExtendedProperties { revision &+= 1 }
  }

  /// The type of an attribute.
  public func type(of handle: AttributeHandle) -> BluetoothUUID? {
    table.index(of: handle).map { table[$0].type }
  }

  /// The Client Characteristic Configuration of the characteristic with this value.
  public func configuration(ofValue handle: AttributeHandle) -> AttributeHandle? {
    table.index(of: handle).flatMap { table[$0].configuration }
  }

  /// All handles of one type, in order.
  public func handles(of type: BluetoothUUID) -> [AttributeHandle] { table.handles(of: type) }

  /// The Database Hash, least significant octet first. It is computed once for each change. Vol 3,
  /// Part G, 7.3.
  public mutating func hash() -> [UInt8] {
    if let cachedHash, cachedHash.revision == revision { return cachedHash.hash }
    let hash = DatabaseHash.compute(table, 0..<table.count)
    cachedHash = (revision, hash)
    return hash
  }

  /// The same hash over one service, which is equal if nothing in the service has changed or moved.
  /// nil if the handle is not in a service.
  public func serviceHash(containing handle: AttributeHandle) -> [UInt8]? {
    guard let service = service(containing: handle), let first = table.index(of: service) else {
      return nil
    }
    let end = table.firstIndex(after: table[first].groupEnd)
    return DatabaseHash.compute(table, first..<end)
  }

  /// Checks that the handles of a service are in one gap between other services.
  private func checkGap(_ range: HandleRange) throws(DatabaseError) {
    if let owner = service(containing: range.start) { throw .handleTaken(max(owner, range.start)) }
    let index = table.firstIndex(from: range.start)
    if index < table.count, table[index].handle <= range.end {
      throw .handleTaken(table[index].handle)
    }
  }

  private func checkLength(_ row: Attribute) throws(DatabaseError) {
    switch row.storage {
    case .constant(let value) where value.count > ValueLimits.longest:
      throw .valueTooLong(row.handle, value.count, limit: ValueLimits.longest)
    case .stored(let value, let limits) where value.count > limits.maximumLength:
      throw .valueTooLong(row.handle, value.count, limit: limits.maximumLength)
    default: break
    }
  }
}

extension Attribute {
  /// Whether this is a declaration, which cannot be written.
  var isDeclaration: Bool { beginsService || type == .include || type == .characteristic }
}
