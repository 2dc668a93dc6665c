import AttoATT
import AttoGATT

@testable import AttoFormats

/// Plays a case against our server, which serves the case's profile. The transcript has the PDUs of
/// the clients and the actions of the server's application.
final class TranscriptServerPlayer: TranscriptPlayer {
  private let server: Server
  private let application: ProfileApplication
  private let mtu: Int
  /// Reads a profile that the case adds.
  private let read: (String) throws -> Profile
  private var clients: [Int: Client] = [:]
  private var current = 1

  private final class Client {
    let seat: TranscriptSeat
    var client: ServerClient
    var isBonded = false
    var key: [UInt8]?
    var isConnected = true
    /// The server's record of a bonded client that has disconnected.
    var record: ClientRecord?

    init(_ seat: TranscriptSeat, _ client: ServerClient) {
      self.seat = seat
      self.client = client
    }
  }

  init(_ profile: Profile, read: @escaping (String) throws -> Profile) throws {
    let layout = try profile.layout()
    application = ProfileApplication(layout.behaviours)
    server = Server(try layout.database(), application: application)
    mtu = Int(profile.mtu ?? 517)
    self.read = read
    let client = server.connect()!
    let seat = TranscriptSeat(
      Session(BearerConfiguration(receiveMTU: mtu), server: server, client: client))
    super.init(seat)
    clients[1] = Client(seat, client)
    sit(1)
  }

  override var seats: [TranscriptSeat] {
    clients.isEmpty ? [seat] : clients.keys.sorted().map { clients[$0]!.seat }
  }

  private var mine: Client { clients[current]! }

  /// Continues with the lines of this client.
  private func sit(_ number: Int) {
    current = number
    if clients[number] == nil {
      let client = server.connect()!
      clients[number] = Client(TranscriptSeat(session(client)), client)
    }
    seat = mine.seat
    application.group = seat.group
    application.deliveries = { [server, client = mine.client] in
      server.deliveries(of: $0, to: client)
    }
  }

  private func session(_ client: ServerClient) -> Session {
    Session(BearerConfiguration(receiveMTU: mtu), server: server, client: client)
  }

  override func play(_ test: Transcript.Case) -> [String] {
    let opensBearers = test.steps.contains { if case .bearers = $0.action { true } else { false } }
    if opensBearers, let features = server.database.handles(of: .serverSupportedFeatures).first {
      // As a server with enhanced bearers does: bit 0, Vol 3, Part G, 7.4.
      try? server.setValue(of: features, to: [0x01])
    }
    return super.play(test)
  }

  override func take(_ action: Transcript.Action) {
    switch action {
    case .client(let pdu):
      expectNothingOnBearer("before the client's PDU")
      application.now = now
      inject(pdu)
      tellOfEvents()
    case .server(let pattern): expect(pattern)
    case .wait(let duration): wait(duration)
    case .silence(let duration):
      wait(duration)
      expectNothing("in silence")
    case .security(let security): mine.client.security = security
    case .bond(let key):
      mine.isBonded = true
      mine.key = key
      if let key { mine.client.setSigningKey(key, counter: 0) }
    case .turn(let number): sit(number)
    case .database(let change): changeDatabase(change)
    case .notify(let values): notify(values)
    case .indicate(let value):
      guard server.deliveries(of: value.handle, to: mine.client).contains(.indication) else {
        return
      }
      _ = try? seat.group.session(forValuesOf: value.handle)
        .indicate(value.handle, value.octets, at: now)
      collect()
    case .bearers(let count, let mtu):
      if mine.client.security.level < .medium { mine.client.security = LinkSecurity(.medium) }
      // A peripheral sends its own requests on the unenhanced bearer.
      open(count, mtu: mtu, carriesProcedures: false)
    case .close(let bearer): close(bearer)
    case .reconnect:
      expectNothing("before the end")
      end()
      reconnect()
    case .disconnect:
      expectNothing("before the end")
      end()
    case .procedure(let words): begin(words)
    case .result(let words): expect(result: words)
    }
  }

  // MARK: Links

  private func end() {
    guard mine.isConnected else { return }
    mine.record = mine.isBonded ? server.record(of: mine.client) : nil
    seat.group.linkEnded()
    server.disconnect(mine.client)
    mine.isConnected = false
  }

  private func reconnect() {
    let old = mine
    let client = server.connect(record: old.record)!
    let new = Client(TranscriptSeat(session(client)), client)
    new.isBonded = old.isBonded
    new.key = old.key
    if let key = old.key, let counter = old.client.signCounter {
      client.setSigningKey(key, counter: counter)
    }
    clients[current] = new
    sit(current)
    seat.group.pump(at: now)
    collect()
  }

  // MARK: Actions of the application

  private func changeDatabase(_ change: Transcript.DatabaseChange) {
    do {
      switch change {
      case .add(let path):
        let start = server.database.freeHandle ?? .max
        for service in try read(path).layout(from: start).services { try server.add(service) }
      case .remove(let handle): try server.remove(service: handle)
      }
    } catch {
      complain("the database did not change: \(error)")
    }
    for client in clients.values where client.isConnected { client.seat.group.pump(at: now) }
    collect()
  }

  /// Notifies the current client of the values that it has configured.
  private func notify(_ values: [Transcript.Value]) {
    let wanted = values.filter {
      server.deliveries(of: $0.handle, to: mine.client).contains(.notification)
    }
    let together = wanted.map { (handle: $0.handle, value: $0.octets) }
    let group = seat.group
    if group.session(forValuesOf: wanted.map(\.handle))?.notify(together) != true {
      for value in wanted {
        _ = group.session(forValuesOf: value.handle).notify(value.handle, value.octets.span.bytes)
      }
    }
    collect()
  }

  private func tellOfEvents() {
    for event in server.events {
      if case .configured(let value, let configuration, _) = event {
        application.configured(value, configuration)
      }
    }
    server.events = []
    collect()
  }

  override func nextMoment() -> Instant? {
    [super.nextMoment(), application.nextMoment].compactMap { $0 }.min()
  }

  override func happen() {
    application.now = now
    application.happen()
  }
}
