import AttoATT

/// Turns the definition of a service into attributes with handles.
struct ServiceRows {
  private(set) var rows: [Attribute] = []
  /// The next free handle; nil once 0xFFFF is used.
  private var next: AttributeHandle?
  private let limit: AttributeHandle?

  init(next: AttributeHandle?, limit: AttributeHandle?) {
    self.next = next
    self.limit = limit
  }

  mutating func lay(
    _ service: ServiceDefinition, in database: Database
  ) throws(DatabaseError) -> Database.Layout {
    if let handle = service.handle {
      guard handle.isValid else { throw .handleOutOfRange(handle) }
      next = handle
    }
    let start = try claim(service.handle)
    append(
      start, service.isPrimary ? .primaryService : .secondaryService, .readOnly,
      .constant(service.uuid.octets))
    for include in service.includes { try lay(include, in: database) }
    var characteristics: [Database.CharacteristicLayout] = []
    for characteristic in service.characteristics {
      characteristics.append(try lay(characteristic))
    }
    let last = rows[rows.count - 1].handle
    let end = service.endHandle ?? last
    guard let range = HandleRange(start, end), last <= end else { throw .handleOutOfRange(end) }
    rows[0].groupEnd = end
    return Database.Layout(range: range, characteristics: characteristics)
  }

  /// The value is start, end and, if it has 16 bits, the type of the included service. Vol 3,
  /// Part G, 3.2.
  private mutating func lay(
    _ include: IncludeDefinition, in database: Database
  ) throws(DatabaseError) {
    let end: AttributeHandle
    let uuid: [UInt8]
    if let target = include.target {
      (end, uuid) = (target.endHandle, target.uuid.octets)
    } else {
      guard let index = database.table.index(of: include.service),
        database.table[index].beginsService,
        case .constant(let octets) = database.table[index].storage
      else { throw .noSuchService(include.service) }
      (end, uuid) = (database.table[index].groupEnd, octets)
    }
    let value = include.service.octets + end.octets + (uuid.count == 2 ? uuid : [])
    append(try claim(include.handle), .include, .readOnly, .constant(value))
  }

  private mutating func lay(
    _ definition: CharacteristicDefinition
  ) throws(DatabaseError) -> Database.CharacteristicLayout {
    let declaration = try claim(definition.handle)
    let value = try claim(definition.valueHandle)
    append(declaration, .characteristic, .readOnly, .characteristic(definition.properties))
    let valueRow = rows.count
    append(value, definition.uuid, definition.permissions, storage(definition.value))

    var offered: ClientCharacteristicConfiguration = []
    if definition.properties.contains(.notify) { offered.insert(.notification) }
    if definition.properties.contains(.indicate) { offered.insert(.indication) }
    var descriptors = definition.descriptors
    if definition.addsConfiguration, !offered.isEmpty,
      !descriptors.contains(where: { $0.uuid == .clientCharacteristicConfiguration })
    {
      descriptors.insert(
        DescriptorDefinition(.clientCharacteristicConfiguration, permissions: .readWrite), at: 0)
    }
    var handles: [AttributeHandle] = []
    for descriptor in descriptors {
      let handle = try claim(descriptor.handle)
      handles.append(handle)
      if descriptor.uuid == .clientCharacteristicConfiguration {
        rows[valueRow].configuration = rows[valueRow].configuration ?? handle
        append(
          handle, descriptor.uuid, descriptor.permissions,
          .configuration(offered, value: value))
      } else {
        append(handle, descriptor.uuid, descriptor.permissions, storage(descriptor.value))
      }
    }
    return Database.CharacteristicLayout(
      uuid: definition.uuid, declarationHandle: declaration, valueHandle: value,
      configurationHandle: rows[valueRow].configuration, descriptorHandles: handles)
  }

  private func storage(_ value: ValueDefinition) -> Attribute.Storage {
    switch value {
    case .constant(let octets): .constant(octets)
    case .stored(let octets, let limits): .stored(octets, limits)
    case .application(let limits): .application(limits)
    case .clientSupportedFeatures: .clientSupportedFeatures
    case .databaseHash: .databaseHash
    }
  }

  private mutating func append(
    _ handle: AttributeHandle, _ type: BluetoothUUID, _ permissions: AttributePermissions,
    _ storage: Attribute.Storage
  ) {
    rows.append(
      Attribute(
        handle: handle, type: type, permissions: permissions, groupEnd: handle,
        configuration: nil, storage: storage))
  }

  /// Allocates the given handle, or the next free one.
  private mutating func claim(_ wanted: AttributeHandle?) throws(DatabaseError) -> AttributeHandle {
    guard let free = next else { throw .noHandlesLeft }
    let handle = wanted ?? free
    guard handle.isValid else { throw .handleOutOfRange(handle) }
    guard handle >= free else { throw .handleOutOfOrder(handle) }
    if let limit, handle > limit { throw .handleOutOfRange(handle) }
    next = handle.next
    return handle
  }
}

extension UInt16 {
  /// The octets in a PDU, least significant first.
  var octets: [UInt8] { [UInt8(truncatingIfNeeded: self), UInt8(self >> 8)] }
}

extension AttributeHandle {
  /// The octets in a PDU, least significant first.
  var octets: [UInt8] { rawValue.octets }
}

extension BluetoothUUID {
  /// The 2 or 16 octets that it has in a value, least significant first. A 32-bit UUID takes 16.
  public var octets: [UInt8] {
    if let short { return short.octets }
    var octets: [UInt8] = []
    octets.reserveCapacity(16)
    for half in [low, high] {
      for shift in stride(from: 0 as UInt64, to: 64, by: 8) {
        octets.append(UInt8(truncatingIfNeeded: half >> shift))
      }
    }
    return octets
  }
}
