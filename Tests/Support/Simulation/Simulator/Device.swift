import AttoATT
import AttoGATT

/// A device: a server for all who are connected to it, and a client of each of them.
final class Device {
  unowned let simulator: Simulator
  let number: Int
  let server: Server?
  let model: ServerModel?
  let application: SimulatedApplication
  let configuration: BearerConfiguration
  let isRogue: Bool
  /// The end whose session is being called.
  var current: LinkEnd?
  var connections: [Connection] = []
  /// The stored state of bonded clients, by number, in the server and the model.
  private var records: [Int: (ClientRecord, ModelRecord)] = [:]
  /// The state of bonded and connected servers.
  var views: [Int: View] = [:]
  /// The values of the application.
  var values: [UInt16: [UInt8]] = [:]
  /// The number of the next value to send, which makes each value unique.
  var serial: UInt32 = 0
  /// The structures of the database with their hashes.
  private var hashes: [[UInt8]: [UInt8]] = [:]

  /// The knowledge of this device about a server.
  struct View {
    var database: RemoteDatabase?
    /// Increases when the server has reported a change.
    var told = 0
    /// The value of `told` when the database was discovered.
    var knownAt = -1
    var isKnown: Bool { database != nil && knownAt == told }
    var serviceChanged: UInt16?
    /// The counter of signed writes.
    var signCounter: UInt32 = 0
  }

  init(
    _ simulator: Simulator, number: Int, server: Server?, model: ServerModel?,
    application: SimulatedApplication, configuration: BearerConfiguration, isRogue: Bool
  ) {
    self.simulator = simulator
    self.number = number
    self.server = server
    self.model = model
    self.application = application
    self.configuration = configuration
    self.isRogue = isRogue
    application.device = self
    if let server { model?.databaseHash = { server.databaseHash() } }
  }

  var name: String { String(UnicodeScalar(UInt8(65 + number))) }
  var ends: [LinkEnd] { connections.flatMap { $0.ends(of: self) }.filter(\.isUsable) }

  // MARK: Clients of this server

  func admit(
    _ peer: Device, _ security: LinkSecurity, isBonded: Bool
  ) -> (ServerClient, ModelClient)? {
    guard let server, let model else { return nil }
    let record = isBonded ? records[peer.number] : nil
    guard let engine = server.connect(security: security, record: record?.0) else {
      if model.clients.count < server.limits.clients {
        simulator.fail("clients up to the limit", "\(name) refuses \(peer.name)")
      }
      return nil
    }
    if model.clients.count >= server.limits.clients {
      simulator.fail("clients up to the limit", "\(name) takes one too many")
    }
    let client = model.connect(engine.id, security, record?.1)
    if isBonded {
      let key = Self.signingKey(of: peer)
      let counter = views[-1 - peer.number]?.signCounter ?? 0
      engine.setSigningKey(key, counter: counter)
      client.signing = (key, counter)
    }
    return (engine, client)
  }

  static func signingKey(of device: Device) -> [UInt8] {
    [UInt8](repeating: UInt8(0x40 + device.number), count: 16)
  }

  func forget(_ engine: ServerClient, _ client: ModelClient, peer: Device, isBonded: Bool) {
    guard let server, let model else { return }
    if isBonded {
      let (record, ought) = (server.record(of: engine), model.record(of: client))
      var kept: [UInt16: UInt16] = [:]
      for (handle, value) in record.configurations { kept[handle.rawValue] = value.rawValue }
      if kept != ought.configurations || record.features.rawValue != ought.features
        || record.databaseHash != ought.databaseHash
      {
        simulator.fail(
          "a bond keeps what is the client's", "\(name) of \(peer.name): \(record), not \(ought)")
      }
      records[peer.number] = (record, ought)
      // The counter of the other's signatures, under a number that no server has.
      views[-1 - peer.number, default: View()].signCounter = engine.signCounter ?? 0
      if engine.signCounter != client.signing?.counter {
        simulator.fail("signatures count", "\(name) of \(peer.name)")
      }
    }
    server.disconnect(engine)
    model.disconnect(client)
    if server.clients.count != model.clients.count {
      simulator.fail("clients up to the limit", "\(name) has \(server.clients.count) clients")
    }
  }

  // MARK: The database

  /// Adds a service to the server and the model, which must assign the same handles.
  func add(_ service: ServiceDefinition) {
    guard let server, let model else { return }
    do throws(DatabaseError) {
      let layout = try server.add(service)
      let range = model.add(service)
      simulator.note { "\(self.name) adds \(layout.range)" }
      if layout.range.start.rawValue != range.start || layout.range.end.rawValue != range.end {
        simulator.fail("services are laid out as defined", "\(name): \(layout.range)")
      }
      checkHash()
    } catch {
      guard error == .noHandlesLeft, model.free > 0xFF80 else {
        return simulator.fail("services are laid out as defined", "\(name): \(error)")
      }
    }
  }

  func remove(_ start: UInt16) {
    guard let server, let model else { return }
    do throws(DatabaseError) {
      let range = try server.remove(service: AttributeHandle(start))
      model.remove(start)
      simulator.note { "\(self.name) removes \(range)" }
      checkHash()
    } catch .included {
      // Another service includes it.
    } catch {
      simulator.fail("services are removed", "\(name): \(error)")
    }
  }

  func setValue(_ handle: UInt16, _ value: [UInt8]) {
    guard let server, let model else { return }
    do throws(DatabaseError) {
      try server.setValue(of: AttributeHandle(handle), to: value)
      model.setValue(handle, value)
      checkHash()
    } catch {
      simulator.note { "\(self.name) cannot set \(handle): \(error)" }
    }
  }

  /// Checks that different structures have different hashes, and equal ones the same. Vol 3, Part
  /// G, 7.3.1.
  private func checkHash() {
    guard let server, let model else { return }
    let structure = ServerModel.structure(of: model.rows)
    let hash = server.databaseHash()
    if let former = hashes[structure], former != hash {
      simulator.fail("one structure, one hash", name)
    } else if hashes[structure] == nil, hashes.values.contains(hash) {
      simulator.fail("one structure, one hash", "\(name): another has the same")
    }
    hashes[structure] = hash
  }

  /// Whether the database has changed during a call of a session.
  var needsPump = false

  func pumpIfNeeded() {
    guard needsPump else { return }
    needsPump = false
    pump()
  }

  /// Pumps the sessions after a change of the database.
  func pump() {
    for connection in connections { connection.side(of: self).pump() }
  }

  // MARK: Known servers

  func becomeStale(_ connection: Connection) {
    views[connection.other(than: self).number, default: View()].told += 1
  }

  /// Receives a notified or indicated value.
  func receiveValue(_ handle: UInt16, _ value: [UInt8], at end: LinkEnd) {
    let number = end.connection.other(than: self).number
    // A client knows it by its type, even if the response to its subscription was lost.
    let model = end.peer.device.model
    let type = model?.row(handle).flatMap { model?.rows[$0].type }
    if type == ModelRow.serviceChanged || views[number]?.serviceChanged == handle {
      becomeStale(end.connection)
    }
  }
}
