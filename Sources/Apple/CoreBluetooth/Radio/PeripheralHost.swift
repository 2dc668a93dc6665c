internal import Atto
import AttoEventLoop
import AttoGATT
import AttoRadio
import Foundation

/// A publisher of services: the loop's side of a peripheral manager.
@RadioLoop protocol ServicePublisher: AnyObject {
  func configured(
    _ handle: AttributeHandle, _ configuration: ClientCharacteristicConfiguration,
    _ client: ClientID)
  func left(_ client: ClientID)
  func read(_ question: Question, offset: Int) -> ReadAnswer
  /// - Parameter delivered: called when the app has had the request, or cannot get it.
  func write(
    _ question: Question, _ parts: [PreparedWrite], _ delivered: @escaping @Sendable () -> Void
  ) -> WriteAnswer
}

/// The peripheral role of a radio: it serves the connected centrals and passes their requests to the
/// manager that published the attribute.
@RadioLoop final class PeripheralHost {
  /// Peers with preferred parameters for their next connection; when there are more, all are
  /// forgotten.
  nonisolated static let preferenceLimit = 64
  /// Write Commands of one central on their way to apps before it is held back.
  nonisolated static let commandLimit = 256

  /// Weak: a connection may end after the last manager is released.
  private weak let radio: RadioContext?
  let server: LocalServer
  /// The connections that centrals have made. This dictionary keeps them open.
  private var connections: [ClientID: Connection] = [:]
  private var peers: [ClientID: BluetoothAddress] = [:]
  /// The peer whose link is being adopted.
  private var arriving: BluetoothAddress?
  private struct WeakPublisher {
    weak var object: (any ServicePublisher)?
  }
  private var owners: [AttributeHandle: WeakPublisher] = [:]
  private var publishers: [WeakPublisher] = []
  private(set) var commands: [ClientID: Int] = [:]
  private var observation: ServerObservation?
  private var preferred: [BluetoothAddress: PreferredConnectionParameters] = [:]

  init(_ radio: RadioContext) {
    self.radio = radio
    server = radio.server
    let bound = LoopBound(WeakReference(self), RadioLoop.loop)
    server.useApplication { HostApplication(bound) }
    Task { @RadioLoop [weak self, server] in
      let observation = try? await server.observe { event in
        RadioLoop.assumeIsolated { bound.value.object?.handle(event) }
      }
      self?.observation = observation
    }
  }

  func join(_ publisher: any ServicePublisher) {
    publishers.removeAll { $0.object == nil }
    publishers.append(WeakPublisher(object: publisher))
  }

  func setOwner(of handle: AttributeHandle, _ publisher: (any ServicePublisher)?) {
    owners[handle] = publisher.map { WeakPublisher(object: $0) }
  }

  /// Serves a peer, whichever side made the connection. Its address is known before its first PDU
  /// is read.
  func serve(_ link: ConnectedLink) throws(AttoError) -> Connection {
    arriving = link.peer
    defer { arriving = nil }
    let connection = try Connection.adoptNow(link.unwrap(), server: server)
    // Until the observation begins, no event tells of the client.
    if connection.endReasonNow == nil, let client = connection.clientNow {
      peers[client] = link.peer
    }
    return connection
  }

  func accept(_ link: ConnectedLink) {
    do throws(AttoError) {
      let connection = try serve(link)
      guard connection.endReasonNow == nil, let client = connection.clientNow else { return }
      connections[client] = connection
      radio?.tellConnectionEvent(.peerConnected, link.peer)
    } catch {
      Warning.log("cannot serve the central \(link.peer): \(error)")
    }
  }

  /// The identifier of a client's peer; nil if it has disconnected.
  func identifier(of client: ClientID) -> UUID? {
    peers[client].flatMap { radio?.identifier(of: $0) }
  }

  func client(at peer: BluetoothAddress) -> ClientID? { peers.first { $0.value == peer }?.key }

  func address(of client: ClientID) -> BluetoothAddress? { peers[client] }

  /// Stores the parameters for a peer's next connection, and returns those of all peers.
  func prefer(
    _ parameters: PreferredConnectionParameters, of peer: BluetoothAddress
  ) -> [BluetoothAddress: PreferredConnectionParameters] {
    if preferred[peer] == nil, preferred.count >= Self.preferenceLimit { preferred = [:] }
    preferred[peer] = parameters
    return preferred
  }

  private func handle(_ event: ServedEvent) {
    switch event {
    case .connected(let client, _): peers[client] = arriving
    case .disconnected(let client, _):
      for publisher in publishers { publisher.object?.left(client) }
      if connections.removeValue(forKey: client) != nil, let peer = peers[client] {
        radio?.tellConnectionEvent(.peerDisconnected, peer)
      }
      peers[client] = nil
      commands[client] = nil
    case .server(.configured(let value, let configuration, let client)):
      owners[value]?.object?.configured(value, configuration, client)
    case .evicted, .valuesDropped, .server: break
    }
  }

  // MARK: Requests

  func read(_ question: Question, offset: Int) -> ReadAnswer {
    guard let owner = owners[question.handle]?.object else { return .refused(.readNotPermitted) }
    return owner.read(question, offset: offset)
  }

  func write(_ question: Question, _ parts: [PreparedWrite]) -> WriteAnswer {
    // Two managers cannot accept or refuse a batch together.
    guard let first = parts.first, let owner = owners[first.handle]?.object,
      parts.allSatisfy({ owners[$0.handle]?.object === owner })
    else { return .refused(.writeNotPermitted) }
    let isCommand = question.kind == .writeCommand
    if isCommand { commandArrived(question.client) }
    return owner.write(question, parts) { [weak self] in
      guard isCommand else { return }
      RadioLoop.later { self?.commandDelivered(question.client) }
    }
  }

  private func commandArrived(_ client: ClientID) {
    commands[client, default: 0] += 1
    if commands[client] == Self.commandLimit { server.holdBack(client, true) }
  }

  private func commandDelivered(_ client: ClientID) {
    guard let count = commands[client] else { return }
    commands[client] = count - 1
    if count - 1 == Self.commandLimit / 2 { server.holdBack(client, false) }
  }
}

private final class HostApplication: Application {
  private let host: LoopBound<WeakReference<PeripheralHost>>

  init(_ host: LoopBound<WeakReference<PeripheralHost>>) { self.host = host }

  override func read(_ question: Question, offset: Int) -> ReadAnswer {
    RadioLoop.assumeIsolated { [host] in
      host.value.object?.read(question, offset: offset) ?? .refused(.readNotPermitted)
    }
  }

  override func write(_ question: Question, _ value: RawSpan) -> WriteAnswer {
    let part = PreparedWrite(handle: question.handle, offset: 0, part: value.owned)
    return execute(question, [part])
  }

  override func execute(_ question: Question, _ writes: [PreparedWrite]) -> WriteAnswer {
    RadioLoop.assumeIsolated { [host] in
      host.value.object?.write(question, writes) ?? .refused(.writeNotPermitted)
    }
  }
}
