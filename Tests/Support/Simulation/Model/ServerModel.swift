import AttoATT
import AttoGATT

/// A second, simple server, written from the specification and the documented decisions of
/// ``Server``, without its code.
///
/// It receives the same PDUs and answers of the application as the server, in order. It gives the
/// expected response to each request, and the values that may be sent to each client.
final class ServerModel {
  /// Sorted by handle.
  private(set) var rows: [ModelRow] = []
  private(set) var clients: [ModelClient] = []
  let limits: ServerLimits
  private(set) var preparedBytes = 0
  /// Increases with each change of the structure.
  private(set) var revision = 0
  /// The Database Hash of the server. Other tests check its value; the model checks that it changes
  /// only with the structure.
  var databaseHash: () -> [UInt8] = { [] }

  /// - Parameter rows: the attributes that it begins with.
  init(limits: ServerLimits, rows: [ModelRow] = []) {
    self.limits = limits
    self.rows = rows
  }

  func row(_ handle: UInt16) -> Int? {
    var low = 0
    var high = rows.count
    while low < high {
      let middle = (low + high) / 2
      if rows[middle].handle < handle { low = middle + 1 } else { high = middle }
    }
    return low < rows.count && rows[low].handle == handle ? low : nil
  }

  func rows(of type: [UInt8], _ start: UInt16, _ end: UInt16) -> [Int] {
    rows.indices.filter {
      rows[$0].handle >= start && rows[$0].handle <= end && rows[$0].type == type
    }
  }

  func setValue(_ handle: UInt16, _ value: [UInt8]) {
    guard let index = row(handle) else { return }
    switch rows[index].kind {
    case .stored(_, let limits): rows[index].kind = .stored(value, limits)
    case .constant: rows[index].kind = .constant(value)
    default: return
    }
    if rows[index].type == ModelRow.extendedProperties { noteChange(handle, handle) }
  }

  /// Replaces a stored value.
  func store(_ index: Int, _ value: [UInt8]) {
    if case .stored(_, let limits) = rows[index].kind { rows[index].kind = .stored(value, limits) }
  }

  // MARK: Structure

  /// The handle after the last service.
  var free: Int {
    (rows.filter(\.isService).map { Int($0.groupEnd) }.max() ?? 0) + 1
  }

  /// Adds a service like the server and returns its range.
  @discardableResult
  func add(_ service: ServiceDefinition) -> (start: UInt16, end: UInt16) {
    var next = service.handle.map { Int($0.rawValue) } ?? free
    var added: [ModelRow] = []
    func append(
      _ wanted: AttributeHandle?, _ type: [UInt8], _ permissions: AttributePermissions,
      _ kind: ModelRow.Kind
    ) -> UInt16 {
      let handle = wanted?.rawValue ?? UInt16(next)
      next = Int(handle) + 1
      added.append(
        ModelRow(
          handle: handle, type: type, permissions: permissions, groupEnd: handle, kind: kind))
      return handle
    }
    let start = append(
      service.handle, service.isPrimary ? ModelRow.primary : ModelRow.secondary, .readOnly,
      .constant(service.uuid.octets))
    for include in service.includes {
      guard let target = row(include.service.rawValue), case .constant(let uuid) = rows[target].kind
      else { preconditionFailure("the simulator includes what there is") }
      let value = octets(include.service.rawValue) + octets(rows[target].groupEnd)
      _ = append(
        include.handle, ModelRow.include, .readOnly,
        .constant(value + (uuid.count == 2 ? uuid : [])))
    }
    for characteristic in service.characteristics {
      let declaration = added.count
      _ = append(characteristic.handle, ModelRow.characteristic, .readOnly, .constant([]))
      let value = append(
        characteristic.valueHandle, characteristic.uuid.octets, characteristic.permissions,
        Self.kind(characteristic.value))
      added[declaration].kind = .constant(
        [characteristic.properties.rawValue] + octets(value) + characteristic.uuid.octets)
      var offered: UInt16 = 0
      if characteristic.properties.contains(.notify) { offered |= 1 }
      if characteristic.properties.contains(.indicate) { offered |= 2 }
      let valueIndex = added.count - 1
      if offered != 0 {
        added[valueIndex].configuration = append(
          nil, ModelRow.configurationType, .readWrite,
          .configuration(offered: offered, value: value))
      }
      for descriptor in characteristic.descriptors {
        _ = append(
          descriptor.handle, descriptor.uuid.octets, descriptor.permissions,
          Self.kind(descriptor.value))
      }
    }
    let end = service.endHandle?.rawValue ?? added[added.count - 1].handle
    added[0].groupEnd = end
    let place = rows.firstIndex { $0.handle > start } ?? rows.count
    rows.insert(contentsOf: added, at: place)
    noteChange(start, end)
    return (start, end)
  }

  private static func kind(_ value: ValueDefinition) -> ModelRow.Kind {
    switch value {
    case .constant(let value): .constant(value)
    case .stored(let value, let limits): .stored(value, limits)
    case .application(let limits): .application(limits)
    case .clientSupportedFeatures: .features
    case .databaseHash: .hash
    }
  }

  /// Removes a service that no other includes.
  func remove(_ start: UInt16) {
    guard let index = row(start) else { return }
    let end = rows[index].groupEnd
    rows.removeAll { $0.handle >= start && $0.handle <= end }
    for client in clients {
      client.configurations = client.configurations.filter { $0.key < start || $0.key > end }
    }
    noteChange(start, end)
  }

  private func noteChange(_ start: UInt16, _ end: UInt16) {
    revision += 1
    for client in clients {
      client.awareness = .unaware
      let (from, to) = client.changed ?? (start, end)
      client.changed = (min(from, start), max(to, end))
    }
  }

  /// The input of the Database Hash for these rows. Vol 3, Part G, 7.3.1.
  static func structure(of rows: some Sequence<ModelRow>) -> [UInt8] {
    var structure: [UInt8] = []
    for row in rows {
      switch row.type {
      case ModelRow.primary, ModelRow.secondary, ModelRow.include, ModelRow.characteristic,
        ModelRow.extendedProperties:
        structure += octets(row.handle) + row.type
        switch row.kind {
        case .constant(let value), .stored(let value, _): structure += value
        default: break
        }
      case [0x01, 0x29], [0x02, 0x29], [0x03, 0x29], [0x04, 0x29], [0x05, 0x29]:
        structure += octets(row.handle) + row.type
      default: break
      }
    }
    return structure
  }

  /// The same for the service that contains a handle.
  private func service(containing handle: UInt16) -> [UInt8] {
    guard
      let service = rows.last(where: { $0.isService && $0.handle <= handle }),
      handle <= service.groupEnd
    else { return [] }
    return Self.structure(
      of: rows.lazy.filter { $0.handle >= service.handle && $0.handle <= service.groupEnd })
  }

  // MARK: Clients

  func connect(_ id: ClientID, _ security: LinkSecurity, _ record: ModelRecord?) -> ModelClient {
    let client = ModelClient(id: id, security: security)
    if let record {
      let isSame = record.databaseHash == databaseHash()
      for (handle, value) in record.configurations
      where isSame || service(containing: handle) == record.services[handle] {
        guard let index = row(handle), case .configuration(let offered, _) = rows[index].kind,
          value & offered != 0
        else { continue }
        client.configurations[handle] = value & offered
      }
      client.features = record.features
      if !isSame {
        client.awareness = .unaware
        client.changed = (1, 0xFFFF)
      }
    }
    clients.append(client)
    return client
  }

  func disconnect(_ client: ModelClient) {
    drop(client)
    clients.removeAll { $0 === client }
  }

  /// Empties a client's prepare queue.
  func drop(_ client: ModelClient) {
    preparedBytes -= client.queue.reduce(0) { $0 + $1.part.count }
    client.queue = []
  }

  func prepare(_ write: PreparedWrite, _ client: ModelClient) -> Bool {
    let own = client.queue.reduce(0) { $0 + $1.part.count }
    guard client.queue.count < limits.preparedWritesPerClient,
      own + write.part.count <= limits.preparedBytesPerClient,
      own + write.part.count <= limits.preparedBytesShare
        || shared(without: client) + own + write.part.count - limits.preparedBytesShare
          <= limits.preparedBytes
    else { return false }
    if client.queue.isEmpty { client.queueRevision = revision }
    client.queue.append(write)
    preparedBytes += write.part.count
    return true
  }

  /// Octets that the other clients have prepared beyond their shares.
  private func shared(without client: ModelClient) -> Int {
    clients.filter { $0 !== client }.reduce(0) { sum, other in
      sum + max(0, other.queue.reduce(0) { $0 + $1.part.count } - limits.preparedBytesShare)
    }
  }

  func record(of client: ModelClient) -> ModelRecord {
    ModelRecord(
      configurations: client.configurations,
      services: Dictionary(
        uniqueKeysWithValues: client.configurations.keys.map { ($0, service(containing: $0)) }),
      features: client.features,
      databaseHash: client.awareness == .aware ? databaseHash() : [])
  }

  /// How a value may be sent to a client now: bit 0 for notification, bit 1 for indication.
  func deliveries(of value: UInt16, to client: ModelClient) -> UInt16 {
    guard let index = row(value), let configuration = rows[index].configuration,
      !client.isOutOfSync
    else { return 0 }
    if case .requires(let requirement) = rows[index].permissions.read,
      Self.refusal(requirement, client.security) != nil
    {
      return 0
    }
    return client.configurations[configuration] ?? 0
  }

  /// The value handle of Service Changed, if the client has configured it.
  func serviceChangedHandle(for client: ModelClient) -> UInt16? {
    guard let index = rows(of: ModelRow.serviceChanged, 1, 0xFFFF).first,
      let configuration = rows[index].configuration,
      (client.configurations[configuration] ?? 0) & 2 != 0
    else { return nil }
    return rows[index].handle
  }

  /// The error for a link that does not meet a requirement. Vol 3, Part F,
  /// 3.2.5 and Part C, 10.3.1.
  static func refusal(
    _ requirement: AttributePermissions.Requirement, _ link: LinkSecurity
  ) -> UInt8? {
    if link.level < requirement.security { return requirement.security == .medium ? 0x0F : 0x05 }
    guard requirement.keySize > 0, link.keySize < requirement.keySize else { return nil }
    return link.level == .low ? 0x0F : 0x0C
  }
}

/// The state of a client in the model.
final class ModelClient {
  let id: ClientID
  var security: LinkSecurity
  var features: UInt8 = 0
  var configurations: [UInt16: UInt16] = [:]
  var queue: [PreparedWrite] = []
  var queueRevision = 0
  var awareness = Awareness.aware
  /// The number of its bearers.
  var bearers = 1
  /// Whether Service Changed is in flight.
  var isBeingTold = false
  /// The range of the pending Service Changed indication.
  var changed: (UInt16, UInt16)?
  /// How often it has read the Database Hash.
  var hashesGiven = 0
  /// The key of signed writes and the lowest valid counter.
  var signing: (key: [UInt8], counter: UInt32)?

  enum Awareness {
    case aware, unaware
    /// It has read the Database Hash: its next request makes it aware.
    case told
  }

  init(id: ClientID, security: LinkSecurity) {
    self.id = id
    self.security = security
  }

  /// Whether it supports robust caching and is not aware of the database.
  var isOutOfSync: Bool { features & 1 != 0 && awareness != .aware }
}

/// The state of a bonded client that the model stores.
struct ModelRecord {
  var configurations: [UInt16: UInt16]
  /// The structure of the service of each configuration.
  var services: [UInt16: [UInt8]]
  var features: UInt8
  var databaseHash: [UInt8]
}
