import Atto
import AttoATT
import AttoEventLoop
import AttoGATT
import AttoLinks
import AttoStore

/// Calls of users.
extension Device {
  /// Calls `body` with the connection, as one of the user's requests.
  func request<Value: Sendable>(
    for id: UInt64, _ body: (Connection) async throws(AttoError) -> Value
  ) async throws(GatewayError) -> Value {
    guard let user = users[id] else { throw .released }
    guard let connection else { throw .notConnected(device: label) }
    guard user.requests < Self.requestLimit else {
      throw .tooManyRequests(limit: Self.requestLimit)
    }
    users[id]?.requests += 1
    counted.requests += 1
    defer { users[id]?.requests -= 1 }
    do throws(AttoError) {
      return try await body(connection)
    } catch {
      throw GatewayError(error)
    }
  }

  func read(_ handle: AttributeHandle, for id: UInt64) async throws(GatewayError) -> [UInt8] {
    if let characteristic = characteristic(configuredBy: handle), users[id] != nil {
      return (subscriptions.users(of: characteristic.valueHandle)[id] ?? []).octets
    }
    return try await request(for: id) { (connection) throws(AttoError) in
      try await connection.readLong(handle)
    }
  }

  func write(
    _ value: [UInt8], to handle: AttributeHandle, withResponse: Bool, for id: UInt64
  ) async throws(GatewayError) {
    if let characteristic = characteristic(configuredBy: handle) {
      return try await configure(characteristic.valueHandle, as: value, for: id)
    }
    try await request(for: id) { (connection) throws(AttoError) in
      guard withResponse else {
        return try await connection.writeWithoutResponse(value, to: handle)
      }
      do throws(AttoError) {
        try await connection.write(value, to: handle)
      } catch .misuse(.valueTooLong) {
        try await connection.writeLong(value, to: handle)
      }
    }
  }

  /// A user has written its Client Characteristic Configuration.
  private func configure(
    _ handle: AttributeHandle, as value: [UInt8], for id: UInt64
  ) async throws(GatewayError) {
    let kind = ClientCharacteristicConfiguration(rawValue: UInt16(value.first ?? 0) & 3)
    if kind.isEmpty { return try await unsubscribe(handle, for: id) }
    try await subscribe(handle, kind, for: id)
  }

  /// The services, discovered once for each link.
  func database(for id: UInt64) async throws(GatewayError) -> RemoteDatabase {
    if let known { return known }
    guard users[id] != nil || id == Self.gatewayUser else { throw .released }
    guard let connection else { throw .notConnected(device: label) }
    let task: Task<Result<RemoteDatabase, GatewayError>, Never>
    if let discovery {
      task = discovery
    } else {
      task = Task(executorPreference: loop.tasks) { await self.discover(connection) }
      discovery = task
    }
    let result = await task.value
    if Task.isCancelled { throw .cancelled }
    return try result.get()
  }

  private func discovered(_ found: RemoteDatabase) {
    known = found
    // A task keeps its memory as long as it is referred to.
    discovery = nil
    followChanges(of: found)
  }

  /// Has the device tell when its services change.
  private func followChanges(of found: RemoteDatabase) {
    guard let changed = found.characteristic(.serviceChanged), changed.cccd != nil else { return }
    serviceChanged = changed.valueHandle
    Task(executorPreference: loop.tasks) {
      try? await self.subscribe(changed.valueHandle, nil, for: Self.gatewayUser)
    }
  }

  private func discover(_ connection: Connection) async -> Result<RemoteDatabase, GatewayError> {
    let name = address.flatMap { PeerName.isStable($0) ? PeerName($0) : nil }
    do {
      let found =
        if let store = hub.here({ $0.storeFault == nil ? $0.store : nil }), let name {
          try await connection.discover(keptIn: store, as: name).database
        } else {
          try await connection.discover()
        }
      guard connection === self.connection else { return .failure(.notConnected(device: label)) }
      discovered(found)
      return .success(found)
    } catch let error as AttoError {
      if connection === self.connection { discovery = nil }
      return .failure(GatewayError(error))
    } catch let error as StoreError where error.isLasting {
      hub.here { $0.storeFailed(error) }
      return await discoverWithoutStore(connection)
    } catch {
      hub.log(.warning, "\(label): services are not stored: \(error)")
      return await discoverWithoutStore(connection)
    }
  }

  private func discoverWithoutStore(
    _ connection: Connection
  ) async -> Result<RemoteDatabase, GatewayError> {
    do throws(AttoError) {
      let found = try await connection.discover()
      guard connection === self.connection else { return .failure(.notConnected(device: label)) }
      discovered(found)
      return .success(found)
    } catch {
      if connection === self.connection { discovery = nil }
      return .failure(GatewayError(error))
    }
  }

  /// Finds a characteristic.
  func characteristic(
    _ reference: CharacteristicReference, for id: UInt64
  ) async throws(GatewayError) -> Characteristic {
    let database = try await database(for: id)
    let found: Characteristic?
    switch reference {
    case .handle(let handle): found = database.characteristic(valueHandle: handle)
    case .uuid(let uuid, nil): found = database.characteristic(uuid)
    case .uuid(let uuid, let service?):
      found = database.services(service).lazy.compactMap { $0.characteristic(uuid) }.first
    case .name(let name):
      guard let named = configuration?.characteristics.first(where: { $0.name == name }) else {
        found = nil
        break
      }
      return try await characteristic(.uuid(named.uuid, service: named.service), for: id)
    }
    guard let found else {
      throw .unknownCharacteristic(device: label, reference.description)
    }
    return found
  }

  /// Raises the link's security, which pairs if there is no bond.
  func pair(for id: UInt64) async throws(GatewayError) {
    let passkey = configuration?.passkey
    try await request(for: id) { (connection) throws(AttoError) in
      if try await connection.security.level > .low { return }
      try await connection.raiseSecurity(to: passkey == nil ? .medium : .high)
    }
  }

  /// Removes the bond, at the radio and in the store. The kernel ends the link then.
  ///
  /// - Throws: `device` with what the radio answered if there was no bond in either place.
  func unpair() async throws(GatewayError) {
    guard let address else { throw .notConnected(device: label) }
    let radios = await hub.openAdapters
    var failure: RadioError?
    var isRemoved = false
    for radio in radios {
      do throws(RadioError) {
        try await radio.unpair(address)
        isRemoved = true
      } catch {
        failure = error
      }
      do throws(StoreError) {
        if try await hub.store?.removeBond(adapter: radio.address, peer: address) == true {
          isRemoved = true
        }
      } catch {
        hub.log(.warning, "\(label): a stored bond is not removed: \(error)")
        if error.isLasting { hub.here { $0.storeFailed(error) } }
      }
    }
    if !isRemoved, let failure { throw .device(.radio(failure)) }
  }

  /// Forgets the services that are stored and those of the present link.
  func clearCache() async {
    known = nil
    discovery = nil
    guard let store = hub.store, let address else { return }
    _ = try? await store.keep(RemoteDatabase(services: []), of: PeerName(address))
  }
}
