import CAtto

/// The Swift part of an `atto`.
final class Device {
  let server: Server
  let asker = Asker()
  let configuration: BearerConfiguration
  let limits: DiscoveryLimits
  /// The service between atto_begin_service and atto_end_service.
  var service: ServiceDefinition?

  init(_ config: atto_config) {
    let results = Int(config.max_results)
    var configuration = BearerConfiguration(
      receiveMTU: Int(config.mtu), maximumWaiting: Int(config.max_procedures),
      maximumPipelined: Int(config.max_pipelined), outboxLimit: Int(config.outbox_limit))
    configuration.timeout = config.transaction_timeout
    self.configuration = configuration
    limits = DiscoveryLimits(
      services: results, includes: results, characteristics: results, descriptors: results,
      values: results)
    let total = Int(config.prepared_octets) * Int(min(config.max_bearers, 16))
    server = Server(
      application: asker,
      limits: ServerLimits(
        preparedWritesPerClient: Int(config.prepared_writes),
        preparedBytesPerClient: Int(config.prepared_octets), preparedBytes: total,
        clients: Int(config.max_bearers)))
    // Fills the tables of the process, so that devices of other threads only read them.
    _ = server.databaseHash()
  }

  static func at(_ pointer: UnsafeMutableRawPointer) -> Device {
    Unmanaged<Device>.fromOpaque(pointer).takeUnretainedValue()
  }

  /// Runs a change of the database. Returns its result in the numbers of atto.h.
  static func change(_ body: () throws(DatabaseError) -> Void) -> Int32 {
    do throws(DatabaseError) { try body() } catch { return Code.of(error) }
    return Code.ok
  }
}

@_cdecl("attocore_create")
func createDevice(_ config: UnsafePointer<atto_config>) -> UnsafeMutableRawPointer {
  Unmanaged.passRetained(Device(unsafe config.pointee)).toOpaque()
}

@_cdecl("attocore_destroy")
func destroyDevice(_ device: UnsafeMutableRawPointer) {
  Unmanaged<Device>.fromOpaque(device).release()
}

@_cdecl("attocore_begin_service")
func beginService(_ device: UnsafeMutableRawPointer, _ row: UnsafePointer<atto_row>) {
  let row = unsafe row.pointee
  Device.at(device).service = ServiceDefinition(
    BluetoothUUID(row.uuid), isPrimary: Int(row.kind) == ATTO_PRIMARY_SERVICE,
    handle: row.handle == 0 ? nil : AttributeHandle(row.handle),
    endHandle: row.end_handle == 0 ? nil : AttributeHandle(row.end_handle))
}

@_cdecl("attocore_add_row")
func addRow(_ device: UnsafeMutableRawPointer, _ row: UnsafePointer<atto_row>) -> Int32 {
  let device = Device.at(device)
  let row = unsafe row.pointee
  guard device.service != nil else { return Int32(ATTO_ERR_STATE) }
  let handle = row.handle == 0 ? nil : AttributeHandle(row.handle)
  switch Int(row.kind) {
  case ATTO_INCLUDE:
    guard let include = include(row, handle, device.server.database) else {
      return Int32(ATTO_ERR_NOT_FOUND)
    }
    device.service!.includes.append(include)
  case ATTO_CHARACTERISTIC:
    var characteristic = CharacteristicDefinition(
      BluetoothUUID(row.uuid), properties: CharacteristicProperties(rawValue: row.properties),
      value: value(row), handle: handle,
      valueHandle: row.value_handle == 0 ? nil : AttributeHandle(row.value_handle))
    if row.permissions != 0 || row.key_size != 0 {
      let bits =
        row.permissions != 0
        ? Int(row.permissions) : bits(of: characteristic.permissions)
      characteristic.permissions = AttributePermissions(bits: bits, keySize: row.key_size)
    }
    device.service!.characteristics.append(characteristic)
  default:
    let last = device.service!.characteristics.count - 1
    guard last >= 0 else { return Int32(ATTO_ERR_STATE) }
    let uuid = BluetoothUUID(row.uuid)
    var permissions: AttributePermissions =
      uuid == .clientCharacteristicConfiguration ? .readWrite : .readOnly
    if row.permissions != 0 {
      permissions = AttributePermissions(bits: Int(row.permissions), keySize: row.key_size)
    }
    device.service!.characteristics[last].descriptors.append(
      DescriptorDefinition(uuid, value: value(row), permissions: permissions, handle: handle))
  }
  return Code.ok
}

private func bits(of permissions: AttributePermissions) -> Int {
  (permissions.read == .denied ? 0 : ATTO_MAY_READ)
    | (permissions.write == .denied ? 0 : ATTO_MAY_WRITE) | ATTO_NO_ACCESS
}

private func include(
  _ row: atto_row, _ handle: AttributeHandle?, _ database: Database
) -> IncludeDefinition? {
  if row.value_handle == 0 {
    let uuid = BluetoothUUID(row.uuid)
    for type in [BluetoothUUID.primaryService, .secondaryService] {
      for service in database.handles(of: type).reversed()
      where database.value(of: service) == uuid.octets {
        return IncludeDefinition(service: service, handle: handle)
      }
    }
    return nil
  }
  var target: IncludeDefinition.Target?
  if row.end_handle != 0 {
    target = IncludeDefinition.Target(
      endHandle: AttributeHandle(row.end_handle), uuid: BluetoothUUID(row.uuid))
  }
  return IncludeDefinition(
    service: AttributeHandle(row.value_handle), handle: handle, target: target)
}

private func value(_ row: atto_row) -> ValueDefinition {
  let length = row.max_length == 0 ? ValueLimits.longest : Int(row.max_length)
  let value = unsafe octets(row.value, Int(row.length))
  return switch Int(row.source) {
  case ATTO_VALUE_CONSTANT: .constant(value)
  case ATTO_VALUE_FIXED: .stored(value, ValueLimits(maximumLength: length, isFixedLength: true))
  case ATTO_VALUE_APPLICATION: .application(ValueLimits(maximumLength: length))
  case ATTO_VALUE_CLIENT_FEATURES: .clientSupportedFeatures
  case ATTO_VALUE_DATABASE_HASH: .databaseHash
  default: .stored(value, ValueLimits(maximumLength: length))
  }
}

/// Adds the service that was begun and returns its handle. Writes the handles of its rows: its own, then those of the
/// includes, and of each characteristic's value and given descriptors. The caller's array has room
/// for as many handles as it has added rows; it may be null.
@_cdecl("attocore_end_service")
func endService(
  _ device: UnsafeMutableRawPointer, _ handles: UnsafeMutablePointer<UInt16>?
) -> Int32 {
  let device = Device.at(device)
  guard let service = device.service else { return Int32(ATTO_ERR_STATE) }
  device.service = nil
  do throws(DatabaseError) {
    let layout = try device.server.add(service)
    let start = Int32(layout.range.start.rawValue)
    guard let handles = unsafe handles else { return start }
    var index = 0
    func put(_ handle: AttributeHandle) {
      unsafe handles[index] = handle.rawValue
      index += 1
    }
    put(layout.range.start)
    let includes = device.server.database.handles(of: .include).filter { layout.range.contains($0) }
    for include in includes { put(include) }
    for (characteristic, definition) in zip(layout.characteristics, service.characteristics) {
      put(characteristic.valueHandle)
      // The configuration that was added has no row.
      let added = characteristic.descriptorHandles.count - definition.descriptors.count
      for descriptor in characteristic.descriptorHandles.dropFirst(added) { put(descriptor) }
    }
    return start
  } catch {
    return Code.of(error)
  }
}

@_cdecl("attocore_remove_service")
func removeService(_ device: UnsafeMutableRawPointer, _ handle: UInt16) -> Int32 {
  Device.change { () throws(DatabaseError) in
    try Device.at(device).server.remove(service: AttributeHandle(handle))
  }
}

@_cdecl("attocore_set_value")
func setValue(
  _ device: UnsafeMutableRawPointer, _ handle: UInt16, _ value: UnsafeRawPointer?, _ length: Int
) -> Int32 {
  Device.change { () throws(DatabaseError) in
    try Device.at(device).server.setValue(
      of: AttributeHandle(handle), to: unsafe octets(value, length))
  }
}

@_cdecl("attocore_get_value")
func getValue(
  _ device: UnsafeMutableRawPointer, _ handle: UInt16, _ room: UnsafeMutableRawPointer?,
  _ size: Int, _ length: UnsafeMutablePointer<Int>
) -> Int32 {
  guard let value = Device.at(device).server.database.value(of: AttributeHandle(handle)) else {
    return Int32(ATTO_ERR_NOT_FOUND)
  }
  return unsafe copy(value, room, size, length)
}

@_cdecl("attocore_find_handle")
func findHandle(_ device: UnsafeMutableRawPointer, _ type: atto_uuid, _ after: UInt16) -> Int32 {
  let handles = Device.at(device).server.database.handles(of: BluetoothUUID(type))
  for handle in handles where handle.rawValue > after { return Int32(handle.rawValue) }
  return 0
}

@_cdecl("attocore_database_hash")
func databaseHash(_ device: UnsafeMutableRawPointer, _ hash: UnsafeMutablePointer<UInt8>) {
  for (offset, octet) in Device.at(device).server.databaseHash().enumerated() {
    unsafe hash[offset] = octet
  }
}

/// Copies octets into a buffer of a C caller, which has this size.
func copy(
  _ value: [UInt8], _ room: UnsafeMutableRawPointer?, _ size: Int,
  _ length: UnsafeMutablePointer<Int>
) -> Int32 {
  unsafe length.pointee = value.count
  guard value.count <= size else { return Int32(ATTO_ERR_LENGTH) }
  unsafe value.withUnsafeBytes { source in
    if let from = unsafe source.baseAddress, let room, !value.isEmpty {
      unsafe room.copyMemory(from: from, byteCount: value.count)
    }
  }
  return Code.ok
}
