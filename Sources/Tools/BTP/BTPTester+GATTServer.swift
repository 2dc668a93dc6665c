import Atto
import AttoATT
import AttoGATT
import AttoRadio

// The server: the first half of the GATT service, and the GATT Server service.
extension BTPService {
  /// auto-pts, doc/btp_gatt_server.txt.
  static let gattServerCommands = [
    gattServer.readSupportedCommands,
    BTPServiceCommand(
      0x02, "Initialize GATT Database", except: "database 0, without services of the tester"
    ) {
      try await $0.initializeDatabase(&$2)
    },
    BTPServiceCommand(0x03, "Get Attributes", except: "the first 255") { try $0.attributes(&$2) },
    BTPServiceCommand(0x04, "Get Attribute Value", except: "not the Database Hash") {
      // The same as in the GATT service, without ATT_Response.
      Array(try await $0.attributeValue(&$2).dropFirst())
    },
    BTPServiceCommand(0x05, "Set Characteristic/Descriptor Value") {
      _ = try $2.address()
      return try await $0.setValue(&$2)
    },
    BTPServiceCommand(0x06, "Change Database") {
      try $2.end()
      try await $0.changeDatabase(nil, .any)
      return []
    },
  ]
}

extension BTPTester {
  func beginGATT() async throws {
    var rows: [BTPDatabase.Row] = []
    var handle: AttributeHandle? = .min
    let end = try await server.freeHandle
    while let current = handle, current != end {
      if let type = try await server.type(of: current) {
        rows.append(.init(handle: current, permissions: type.standardPermissions, type: type))
      }
      handle = current.next
    }
    gatt.begin(rows)
    observation = try await server.observe { [weak self] event in
      self?.assumeIsolated { $0.happened(event) }
    }
  }

  private func happened(_ event: ServedEvent) {
    switch event {
    case .connected(let client, _): clients[client] = arriving
    case .disconnected(let client, _):
      if let peer = clients.removeValue(forKey: client) { configurations[peer.value] = nil }
    case .server(.valueWritten(let handle, let client)):
      guard let value = server.valueNow(of: handle) else { return }
      valueChanged(handle, value, by: client)
    case .server(.configured(let value, let configuration, let client)):
      guard let handle = gatt.configuration(of: value) else { return }
      let value = configuration.rawValue.octets(2)
      if let peer = clients[client] { configurations[peer.value, default: [:]][handle] = value }
      valueChanged(handle, value, by: client)
    default: break
    }
  }

  private func valueChanged(_ handle: AttributeHandle, _ value: [UInt8], by client: ClientID) {
    let parameters = handle.btp + value.btpValue
    send(0x81, of: .gatt, parameters)
    guard let peer = clients[client] else { return }
    send(0x81, of: .gattServer, peer.btp + parameters)
  }

  // MARK: Commands

  fileprivate func initializeDatabase(
    _ parameters: inout BTPParameters
  ) async throws -> [UInt8] {
    let database = try parameters.number(UInt8.self)
    let flags = try parameters.number(UInt32.self)
    guard database == 0, flags == 0 else { throw BTPStatus.fail }
    return try await resetServer(&parameters)
  }

  func startServer(_ parameters: inout BTPParameters) async throws -> [UInt8] {
    try parameters.end()
    guard let first = gatt.draft.first?.handle else { throw BTPStatus.fail }
    let count = gatt.rows.count
    var added: [AttributeHandle] = []
    do {
      for service in gatt.draft {
        try await server.add(service)
        added.append(service.handle ?? .min)
      }
    } catch {
      for service in added.reversed() { _ = try? await server.remove(service: service) }
      gatt.dropDraft()
      throw error
    }
    gatt.started()
    return first.btp + [UInt8(clamping: gatt.rows.count - count)]
  }

  func resetServer(_ parameters: inout BTPParameters) async throws -> [UInt8] {
    try parameters.end()
    gatt.dropDraft()
    for service in gatt.services.reversed() { try await removeService(service.start) }
    return []
  }

  func removeService(_ handle: AttributeHandle) async throws(AttoError) {
    gatt.removed(try await server.remove(service: handle))
  }

  /// Sets a value; clients that have subscribed to it get it.
  func setValue(_ parameters: inout BTPParameters) async throws -> [UInt8] {
    let handle = try parameters.handle()
    let value = try parameters.value()
    try parameters.end()
    if try gatt.setValue(of: handle, to: value) { return [] }
    guard let last = gatt.rows.last?.handle else { throw BTPStatus.fail }
    let target = gatt.valueHandle(handle.isValid ? handle : last)
    try await server.setValue(of: target, to: value)
    // In the order of the commands, which do not wait for slow clients.
    let (server, former) = (server, lastDelivery)
    lastDelivery = start {
      await former?.value
      _ = try? await server.notify(value, of: target)
      _ = try? await server.beginIndicating(value, of: target)
    }
    return []
  }

  func attributes(_ parameters: inout BTPParameters) throws(BTPStatus) -> [UInt8] {
    let range = try parameters.range()
    let type = try parameters.optionalUUID()
    try parameters.end()
    return gatt.rows.filter { range.contains($0.handle) && (type == nil || $0.type == type) }
      .map { $0.handle.btp + [$0.permissions] + $0.type.btp }.btpList
  }

  /// ATT_Response, length and value.
  func attributeValue(_ parameters: inout BTPParameters) async throws(BTPStatus) -> [UInt8] {
    let address = try parameters.address()
    let handle = try parameters.handle()
    try parameters.end()
    guard let row = gatt.rows.first(where: { $0.handle == handle }) else {
      return [ErrorCode.invalidHandle.rawValue] + [UInt8]().btpValue
    }
    if row.type == .clientCharacteristicConfiguration {
      return [0] + configuration(handle, of: address).btpValue
    }
    guard let value = try? await server.value(of: handle) else { throw .fail }
    return [0] + value.btpValue
  }

  // MARK: Changes of the database

  enum DatabaseChange: UInt8 { case remove, add, any }

  /// Adds a service, or removes one.
  ///
  /// - Parameter range: nil: this end chooses.
  func changeDatabase(_ range: HandleRange?, _ change: DatabaseChange) async throws {
    guard gatt.draft.isEmpty else { throw BTPStatus.fail }
    let service = range.map { ownService(containing: $0.start) } ?? gatt.services.last?.start
    if change == .remove || (change == .any && service != nil) {
      guard let service else { throw BTPStatus.fail }
      return try await removeService(service)
    }
    var definition = ServiceDefinition(
      .btpAddition, handle: range?.start ?? gatt.next, endHandle: range?.end)
    definition.characteristics = [
      CharacteristicDefinition(.btpAddition, properties: .read, value: .constant([0]))
    ]
    let layout = try await server.add(definition)
    let characteristic = layout.characteristics[0]
    gatt.added(
      layout,
      [
        .init(handle: layout.range.start, permissions: 0x01, type: .primaryService),
        .init(handle: characteristic.declarationHandle, permissions: 0x01, type: .characteristic),
        .init(handle: characteristic.valueHandle, permissions: 0x01, type: .btpAddition),
      ])
  }

  /// The tester's service that contains an attribute.
  func ownService(containing handle: AttributeHandle) -> AttributeHandle? {
    gatt.services.first { $0.contains(handle) }?.start
  }
}

extension BluetoothUUID {
  /// The service that Change Database adds, and its characteristic: a UUID of Atto's own.
  static let btpAddition = BluetoothUUID(high: 0xA770_B7B0_0001_4000, low: 0x8000_0000_0000_0001)

  /// The permissions of an attribute of this type in the services that every server has.
  fileprivate var standardPermissions: UInt8 {
    switch self {
    case .serviceChanged: 0
    case .clientCharacteristicConfiguration, .clientSupportedFeatures: 0x03
    default: 0x01
    }
  }
}
