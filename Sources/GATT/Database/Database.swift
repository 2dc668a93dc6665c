import ATT

/// The attributes of a server, in services. Vol 3, Part G, 2.6.
///
/// Services come and go while clients are connected; ``Server`` tells the clients. Values
/// that the server keeps are here; those that belong to a client are with the client.
public struct Database: Sendable {
  var table = AttributeTable()
  /// Changes whenever a service is added or removed.
  public private(set) var revision: UInt32 = 0
  private var cachedHash: (revision: UInt32, hash: [UInt8])?

  /// A database without services.
  public init() {}

  /// How many attributes there are.
  public var count: Int { table.count }

  /// Where the parts of an added service are.
  public struct Layout: Equatable, Sendable {
    /// From the declaration to the service's last handle.
    public let range: HandleRange
    /// The characteristics, in the order of the definition.
    public let characteristics: [CharacteristicLayout]
  }

  /// Where the parts of an added characteristic are.
  public struct CharacteristicLayout: Equatable, Sendable {
    /// Where it is declared.
    public let declaration: AttributeHandle
    /// Where its value is: what is read, written and notified.
    public let value: AttributeHandle
    /// The Client Characteristic Configuration, if it has one.
    public let configuration: AttributeHandle?
    /// All descriptors in order, the configuration among them.
    public let descriptors: [AttributeHandle]
  }

  /// Adds a service. Throws, with nothing added, if it does not fit as it is defined.
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

  /// Removes a service with all its attributes and tells which handles it had.
  ///
  /// - Throws: `noSuchService` if no service is declared there; `included` if another service
  ///   refers to it. Nothing has changed then.
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

  /// The declaration of the service that holds this attribute.
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

  /// The handle after the last service; nil at the end of the space.
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

  /// The value that the server keeps for an attribute; nil if there is none, or the
  /// application or the client has it.
  public func value(of handle: AttributeHandle) -> [UInt8]? {
    guard let index = table.index(of: handle) else { return nil }
    switch table[index].storage {
    case .constant(let value), .stored(let value, _): return value
    default: return nil
    }
  }

  /// Replaces a value that the server keeps. Permissions are for clients and not asked.
  ///
  /// - Throws: `noSuchValue` if there is no such attribute or the database does not keep its
  ///   value; `valueTooLong` and the like if it is beyond its limits.
  public mutating func setValue(
    of handle: AttributeHandle, to value: [UInt8]
  ) throws(DatabaseError) {
    guard let index = table.index(of: handle) else { throw .noSuchValue(handle) }
    switch table[index].storage {
    case .stored(_, let limits):
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
    // Extended Properties are the one value that the hash covers and that may be set.
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

  /// The Database Hash, least significant octet first, as it goes on the wire. Computed once
  /// for each change. Vol 3, Part G, 7.3.
  public mutating func hash() -> [UInt8] {
    if let cachedHash, cachedHash.revision == revision { return cachedHash.hash }
    let hash = DatabaseHash.compute(table.attributes)
    cachedHash = (revision, hash)
    return hash
  }

  /// The same over one service alone: equal as long as nothing in it has changed or moved. nil
  /// for a handle in no service.
  public func serviceHash(containing handle: AttributeHandle) -> [UInt8]? {
    guard let service = service(containing: handle), let first = table.index(of: service) else {
      return nil
    }
    let end = table[first].groupEnd
    return DatabaseHash.compute(table.attributes[first...].prefix { $0.handle <= end })
  }

  /// A service's handles must lie in one gap between other services.
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
  /// Declarations make the structure of a database and are never written.
  var isDeclaration: Bool { beginsService || type == .include || type == .characteristic }
}
