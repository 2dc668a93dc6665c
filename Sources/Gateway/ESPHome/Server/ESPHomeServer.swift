import AttoEventLoop
import AttoGateway
import AttoLinks
import AttoRadio
import AttoStreams
import Glibc

/// Serves a hub over ESPHome's native API, as a Bluetooth proxy of which there are several clients.
///
/// # Theory
/// The server accepts connections and gives each to an ``ESPHomeClient``, which owns what the client asked
/// for: subscriptions and connections to devices. What all clients get alike is made once, here:
/// advertisements are collected for ``batchTime`` and encoded once for all subscribers, and changes of
/// connections and of the scanner are sent to those who want them.
///
/// A client is established when it has said hello, which needs the key. Clients that have not are kept
/// for a short time only, and give way when all places are taken, so that strangers cannot lock out
/// those that have the key.
///
/// Runs on the hub's loop.
package actor ESPHomeServer: FrontEnd {
  /// How long advertisements are collected. The first one after a silence is sent at once.
  static let batchTime: Duration = .milliseconds(50)
  /// Advertisements in one message.
  static let batchLimit = 16
  /// How often the scanner's state is looked at, and clients that are silent.
  static let watchTime: Duration = .seconds(5)
  /// Connections that are being refused. Beyond it they are closed without a word.
  static let refusalLimit = 16

  package nonisolated let name = "esphome"
  nonisolated let loop: Loop
  nonisolated let configuration: Configuration.ESPHome
  nonisolated let identity: ServerIdentity
  private nonisolated let logging: Hub.Logging
  /// For lines of clients that have not shown a key.
  private var strangers: LogQuota?
  var hub: Hub?
  var clients: [UInt64: ESPHomeClient] = [:]
  private var lastClient: UInt64 = 0
  private var acceptor: SocketAcceptor<StreamSocket>?
  private var refusals: [ObjectIdentifier: Refusal] = [:]
  private var place: String?
  private var announcer: Announcer?
  private var clientsServed = 0
  var advertisementsDropped: UInt64 = 0
  var advertising: Task<Void, Never>?
  var scanner: AdvertisementReport?
  var watchTimer: LoopTimer?

  package nonisolated var unownedExecutor: UnownedSerialExecutor {
    loop.asUnownedSerialExecutor()
  }

  /// A server that does nothing until ``run(_:)``.
  package init(
    _ configuration: Configuration.ESPHome, name: String, _ identity: GatewayIdentity, loop: Loop,
    log: @escaping Hub.Logging = { _, _ in }
  ) {
    self.configuration = configuration
    self.loop = loop
    logging = log
    self.identity = ServerIdentity(
      name: name, friendlyName: configuration.friendlyName, identity)
  }

  nonisolated func log(_ level: LogLevel, _ text: String) { logging(level, "esphome: \(text)") }

  /// Logs what a client causes by connecting.
  ///
  /// - Parameter hasKey: whether it has shown that it has the key. Others can connect without end.
  func log(_ level: LogLevel, _ text: String, hasKey: Bool) {
    guard !hasKey else { return log(level, text) }
    let quota =
      strangers ?? LogQuota("lines about clients", on: loop) { [weak self] in self?.log($0, $1) }
    strangers = quota
    quota.log(level, text)
  }

  /// Where the server listens: `127.0.0.1:6053`; nil until it does.
  package var listeningPlace: String? { place }

  /// Serves until the task is cancelled.
  ///
  /// - Throws: `SodiumError` if a key is configured and libsodium cannot be loaded, `LinkError` if the
  ///   place cannot be listened at, `LoopError`.
  package func run(_ hub: Hub) async throws {
    if configuration.key != nil { try Sodium.load() }
    self.hub = hub
    let listener = try listen()
    place = listener.descriptor.flatMap(TCPListening.name(of:)) ?? "\(configuration.listen)"
    acceptor = try SocketAcceptor(
      listener, on: loop, { [weak self] socket in self?.assumeIsolated { $0.accept(socket) } },
      failure: { [weak self] error in self?.log(.warning, "\(error)") })
    log(
      .notice,
      "listening at \(place ?? "?") as \(identity.addressText), "
        + (configuration.key == nil ? "without encryption" : "encrypted"))
    announce()
    defer { stop() }
    await withDiscardingTaskGroup { group in
      group.addTask { await self.followConnections() }
      group.addTask { await self.followPairing() }
    }
  }

  private func listen() throws -> SocketListener<StreamSocket> {
    switch configuration.listen {
    case .internet(let host, let port): try TCPListening.listen(host: host, port: port)
    case .unix(let path):
      throw LinkError(.listen, .system(EINVAL), endpoint: "unix:\(path)")
    }
  }

  private func announce() {
    guard configuration.isAnnounced, case .internet(let host, let port) = configuration.listen
    else { return }
    let chosen = place.flatMap { $0.split(separator: ":").last }.flatMap { UInt16($0) }
    let announcer = Announcer(
      identity.service(port: chosen ?? port, isEncrypted: configuration.key != nil),
      digits: identity.digits, listening: host, on: loop
    ) { [weak self] level, text in self?.log(level, text) }
    self.announcer = announcer
    announcer.start()
  }

  package func status() async -> FrontEndStatus {
    let established = clients.values.count { $0.here { $0.isEstablished } }
    return FrontEndStatus(
      state: place == nil ? "stopped" : established == 1 ? "1 client" : "\(established) clients",
      isHealthy: place != nil,
      numbers: [
        ("clients", Double(established)), ("clients_served_total", Double(clientsServed)),
        ("advertisements_dropped_total", Double(advertisementsDropped)),
      ])
  }

  private func stop() {
    announcer?.stop()
    announcer = nil
    acceptor?.stop()
    acceptor = nil
    place = nil
    for client in clients.values { client.here { $0.end(.stopped) } }
    for refusal in refusals.values { refusal.stream.close() }
    refusals = [:]
    advertising?.cancel()
    advertising = nil
    watchTimer?.cancel()
    watchTimer = nil
    hub = nil
    strangers?.flush()
  }

  // MARK: Clients

  private func accept(_ socket: StreamSocket) {
    if clients.count >= configuration.clients {
      // One that has not shown that it has the key gives way.
      let strangers = clients.filter { !$0.value.here { $0.isEstablished } }
      guard let oldest = strangers.min(by: { $0.key < $1.key })?.value else {
        return refuse(socket)
      }
      oldest.here { $0.end(.gaveWay) }
    }
    lastClient += 1
    do throws(LoopError) {
      clients[lastClient] = try ESPHomeClient(lastClient, socket, of: self)
      clients[lastClient]?.here { $0.start() }
      watch()
    } catch {
      log(.warning, "\(socket.peerName): \(error)")
    }
  }

  /// Tells a client that there is no place for it.
  private func refuse(_ socket: StreamSocket) {
    log(
      .warning, "\(socket.peerName): refused: \(configuration.clients) clients are connected",
      hasKey: false)
    guard refusals.count < Self.refusalLimit,
      let refusal = try? Refusal(socket, on: loop)
    else { return }
    refusals[ObjectIdentifier(refusal)] = refusal
    let text = Wire.refusal(
      "Too many clients", isEncrypted: configuration.key != nil,
      greeting: Wire.greeting(name: identity.name, address: identity.digits))
    let id = ObjectIdentifier(refusal)
    refusal.begin(text) { [weak self] in
      self?.assumeIsolated { _ = $0.refusals.removeValue(forKey: id) }
    }
  }

  /// A client has said hello.
  func established(_ client: ESPHomeClient) { clientsServed += 1 }

  func ended(_ id: UInt64) {
    clients[id] = nil
    subscribersChanged()
    wishesChanged()
  }
}

/// A connection that is being refused.
private final class Refusal {
  let stream: ByteStream

  init(_ socket: StreamSocket, on loop: Loop) throws(LoopError) {
    stream = try ByteStream(socket, outputLimit: 1024, on: loop)
  }

  func begin(_ octets: [UInt8], _ done: @escaping () -> Void) {
    stream.onClosed = done
    stream.send(octets)
    stream.finish()
  }
}
