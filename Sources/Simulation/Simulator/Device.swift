import ATT
import GATT
import Links

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
  /// What is kept of bonded clients, by their number, by server and model.
  private var records: [Int: (ClientRecord, ModelRecord)] = [:]
  /// What is known of bonded servers, and of others while connected.
  var views: [Int: View] = [:]
  /// What the application's attributes hold.
  var values: [UInt16: [UInt8]] = [:]
  /// Numbers the values that are sent, so that each is told from all others.
  var serial: UInt32 = 0
  /// Structures with their hashes.
  private var hashes: [[UInt8]: [UInt8]] = [:]

  /// A server as this device knows it.
  struct View {
    var database: RemoteDatabase?
    /// Goes up whenever the server has told of a change.
    var told = 0
    /// `told` when the database was discovered.
    var knownAt = -1
    var isKnown: Bool { database != nil && knownAt == told }
    var features: UInt8 = 0
    var wantsServiceChanged = false
    var serviceChanged: UInt16?
    /// Of signed writes.
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
      // Under a number that no server has, the counter of the other's signatures.
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

  /// Adds a service to server and model, which must lay it out alike.
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
      // Another service refers to it: it stays.
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

  /// One structure has one hash and another has another. Vol 3, Part G, 7.3.1.
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

  /// The database has changed within a call of a session.
  var needsPump = false

  func pumpIfNeeded() {
    guard needsPump else { return }
    needsPump = false
    pump()
  }

  /// Sends what a change of the database makes due.
  func pump() {
    for end in ends {
      end.call {
        end.session.pump(at: simulator.now)
        return .none
      }
    }
  }

  // MARK: Servers that this device knows

  func becomeStale(_ connection: Connection) {
    views[connection.other(than: self).number, default: View()].told += 1
  }

  /// A value has arrived unasked.
  func takeValue(_ handle: UInt16, _ value: [UInt8], at end: LinkEnd) {
    let number = end.connection.other(than: self).number
    // A client knows it by its type, even if it has never learnt that its subscription was taken.
    let model = end.peer.device.model
    let type = model?.row(handle).flatMap { model?.rows[$0].type }
    if type == ModelRow.serviceChanged || views[number]?.serviceChanged == handle {
      becomeStale(end.connection)
    }
  }
}
