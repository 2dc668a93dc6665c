internal import Atto
import Foundation

/// The peripheral role of a radio: the centrals that are connected, whoever published what they
/// ask for, and whom to ask.
@RadioLoop final class Hosting {
  /// Peers whose next connections are wished to be like something; beyond, older wishes are
  /// forgotten.
  nonisolated static let wishLimit = 64
  /// Commands of one central on their way to apps before it is held back.
  nonisolated static let commandLimit = 256

  /// Weak: a connection may end after the last manager has gone.
  private weak let station: Station?
  let server: LocalServer
  /// The connections of centrals, which live as long as they are here.
  private var connections: [ClientID: Connection] = [:]
  private var peers: [ClientID: BluetoothAddress] = [:]
  /// Whose link is being taken over.
  private var arriving: BluetoothAddress?
  private var owners: [AttributeHandle: WeakReference<PublishingEngine>] = [:]
  private var engines: [WeakReference<PublishingEngine>] = []
  private(set) var commands: [ClientID: Int] = [:]
  private var observation: ServerObservation?
  private var wishes: [BluetoothAddress: PreferredConnectionParameters] = [:]

  init(_ station: Station) {
    self.station = station
    server = station.server
    let bound = LoopBound(WeakReference(self), RadioLoop.loop)
    server.useApplication { HostedValues(bound) }
    Task { @RadioLoop [weak self, server] in
      let observation = try? await server.observe { event in
        RadioLoop.assumeIsolated { bound.value.object?.take(event) }
      }
      self?.observation = observation
    }
  }

  func join(_ engine: PublishingEngine) {
    engines.removeAll { $0.object == nil }
    engines.append(WeakReference(engine))
  }

  func own(_ handle: AttributeHandle, _ engine: PublishingEngine?) {
    owners[handle] = engine.map { WeakReference($0) }
  }

  /// Serves a peer, whichever of us has connected. Who it is, is known before its first PDU is
  /// read.
  func serve(_ link: ConnectedLink) throws(AttoError) -> Connection {
    arriving = link.peer
    defer { arriving = nil }
    let connection = try Connection.adoptNow(link.take(), server: server)
    // Before the server is observed, nobody has told.
    if connection.endReasonNow == nil, let client = connection.clientNow {
      peers[client] = link.peer
    }
    return connection
  }

  /// Serves a central that has connected.
  func take(_ link: ConnectedLink) {
    do throws(AttoError) {
      let connection = try serve(link)
      guard connection.endReasonNow == nil, let client = connection.clientNow else { return }
      connections[client] = connection
      station?.tellConnectionEvent(.peerConnected, link.peer)
    } catch {
      Misuse.log("the central \(link.peer) could not be served: \(error)")
    }
  }

  /// What an app calls the client; nil if it is gone.
  func identifier(of client: ClientID) -> UUID? {
    peers[client].flatMap { station?.identifier(of: $0) }
  }

  /// The client that is connected from there.
  func client(at peer: BluetoothAddress) -> ClientID? { peers.first { $0.value == peer }?.key }

  func address(of client: ClientID) -> BluetoothAddress? { peers[client] }

  /// Notes what a peer's next connection shall be like; returns all such wishes, at most ``wishLimit``.
  func wish(
    _ parameters: PreferredConnectionParameters, of peer: BluetoothAddress
  ) -> [BluetoothAddress: PreferredConnectionParameters] {
    if wishes[peer] == nil, wishes.count >= Self.wishLimit { wishes = [:] }
    wishes[peer] = parameters
    return wishes
  }

  private func take(_ event: ServedEvent) {
    switch event {
    case .connected(let client, _): peers[client] = arriving
    case .disconnected(let client, _):
      for engine in engines { engine.object?.left(client) }
      if connections.removeValue(forKey: client) != nil, let peer = peers[client] {
        station?.tellConnectionEvent(.peerDisconnected, peer)
      }
      peers[client] = nil
      commands[client] = nil
    case .server(.configured(let value, let configuration, let client)):
      owners[value]?.object?.configured(value, configuration, client)
    case .server: break
    }
  }

  // MARK: Questions

  func read(_ question: Question, offset: Int) -> ReadAnswer {
    guard let engine = owners[question.handle]?.object else { return .refused(.readNotPermitted) }
    return engine.read(question, offset: offset)
  }

  func write(_ question: Question, _ parts: [PreparedWrite]) -> WriteAnswer {
    let engines = parts.map { owners[$0.handle]?.object }
    // All or nothing cannot be had from two apps.
    guard let first = engines.first, let engine = first,
      engines.allSatisfy({ $0 === engine })
    else { return .refused(.writeNotPermitted) }
    let isCommand = question.kind == .writeCommand
    if isCommand { commandCame(question.client) }
    return engine.write(question, parts) { [weak self] in
      guard isCommand else { return }
      RadioLoop.later { self?.commandWent(question.client) }
    }
  }

  private func commandCame(_ client: ClientID) {
    commands[client, default: 0] += 1
    if commands[client] == Self.commandLimit { server.holdBack(client, true) }
  }

  private func commandWent(_ client: ClientID) {
    guard let count = commands[client] else { return }
    commands[client] = count - 1
    if count - 1 == Self.commandLimit / 2 { server.holdBack(client, false) }
  }
}

/// Hands a server's questions on.
private final class HostedValues: Application {
  private let host: LoopBound<WeakReference<Hosting>>

  init(_ host: LoopBound<WeakReference<Hosting>>) { self.host = host }

  override func read(_ question: Question, offset: Int) -> ReadAnswer {
    let host = host
    return RadioLoop.assumeIsolated {
      host.value.object?.read(question, offset: offset) ?? .refused(.readNotPermitted)
    }
  }

  override func write(_ question: Question, _ value: RawSpan) -> WriteAnswer {
    let part = PreparedWrite(handle: question.handle, offset: 0, part: value.owned)
    return execute(question, [part])
  }

  override func execute(_ question: Question, _ writes: [PreparedWrite]) -> WriteAnswer {
    let host = host
    return RadioLoop.assumeIsolated {
      host.value.object?.write(question, writes) ?? .refused(.writeNotPermitted)
    }
  }
}
