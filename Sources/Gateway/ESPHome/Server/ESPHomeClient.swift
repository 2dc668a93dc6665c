import AttoEventLoop
import AttoGateway
import AttoStreams

/// One client of a server, and everything that it asked for.
///
/// # Theory
///     greeting --hello--> established --its disconnect, its end, our refusal--> ended
///        '----------------time, an error---------------------------------------'
///
/// Messages are carried out in the order in which they arrive; those for one device wait in its
/// queue (``ProxiedDevice``), so a slow device delays no other. While ``requestLimit`` of them
/// wait, or the client does not read the answers, nothing more is received from it. So a client
/// costs a bounded amount, whatever it sends.
///
/// A client that does not read gets no more advertisements, which can be missed. When
/// ``valueLimit`` octets wait for it, values wait in the hub, which drops and counts the oldest. So
/// a client that reads more slowly than a device sends loses only its own values. A client that
/// stays behind for ``readingTime`` is dropped.
///
/// Everything ends with the client: the uses of devices are released, so that links that nobody else
/// wants are closed.
actor ESPHomeClient {
  /// Requests of a client that wait for devices.
  static let requestLimit = 64
  /// Devices that one client uses.
  static let deviceLimit = 64
  /// Octets that may wait for a client, and those beyond which it gets no values, and no answers and
  /// advertisements.
  static let outputLimit = 1 << 20
  static let valueLimit = 1 << 18
  static let advertisementLimit = 1 << 16
  /// How long a client may take to say hello.
  static let greetingTime: Duration = .seconds(15)
  /// A client that was silent for so long is asked whether it is there, and dropped after the second.
  static let pingTime: Duration = .seconds(60)
  static let silenceTime: Duration = .seconds(150)
  /// How long a client may take to read what values wait behind.
  static let readingTime: Duration = .seconds(60)

  /// Why a client was dropped.
  enum End: Equatable {
    case stream(StreamEnd)
    case wire(WireError)
    case message(type: UInt64, ProtobufError)
    case noHello
    case silence
    case gaveWay
    case stopped
    /// The client said so.
    case disconnected
  }

  private enum Phase { case greeting, established, ended }

  let id: UInt64
  nonisolated let loop: Loop
  /// Until ``end(_:)`` the two hold each other.
  let server: ESPHomeServer
  private let stream: ByteStream
  private var wire: Wire
  private var phase = Phase.greeting
  private let began: Int64
  private var lastHeard: Int64
  private var hasAsked = false
  private let roomWaiters = WaiterList<Void, Void, GatewayError>()
  /// Since when values wait for the client to read; nil if none do.
  private(set) var behindSince: Int64?
  private var isReceiving = false
  private var clientName = ""
  /// The minor version of the interface that the client has.
  var version: UInt32 = 0
  var wantsAdvertisements = false
  var wantsConnections = false
  var wantsEvents = false
  /// What the client has asked of the scanner.
  var wishesActiveScan: Bool?
  var devices: [UInt64: ProxiedDevice] = [:]
  /// Requests that wait for devices.
  var requests = 0

  nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

  init(_ id: UInt64, _ socket: StreamSocket, of server: ESPHomeServer) throws(LoopError) {
    self.id = id
    self.server = server
    loop = server.loop
    stream = try ByteStream(socket, outputLimit: Self.outputLimit, on: server.loop)
    wire = Wire(
      server.configuration.key.map(Wire.Protection.key) ?? .none, name: server.identity.name,
      address: server.identity.digits)
    began = server.loop.now
    lastHeard = began
  }

  var isEstablished: Bool { phase == .established }
  /// For messages and for the hub's status.
  var label: String { clientName.isEmpty ? stream.peerName : "\(stream.peerName) (\(clientName))" }

  func start() {
    stream.onOctets = { [weak self] octets in self?.assumeIsolated { $0.received(octets) } }
    stream.onEnd = { [weak self] end in self?.assumeIsolated { $0.end(.stream(end)) } }
    stream.onDrained = { [weak self] in self?.assumeIsolated { $0.drained() } }
  }

  private func drained() {
    behindSince = nil
    roomWaiters.resumeAll(.success(()))
    carryOut()
  }

  /// Waits until there is room for a value. Returns at once if the task is cancelled.
  func room() async {
    guard stream.waiting > Self.valueLimit else { return }
    let _: Void? = try? await loop.withLocalWaiter { (waiter: Waiter<Void, GatewayError>) in
      guard stream.waiting > Self.valueLimit else { return waiter.resume(.success(())) }
      behindSince = behindSince ?? loop.now
      roomWaiters.append(waiter, for: ())
    }
  }

  private func received(_ octets: [UInt8]) {
    lastHeard = loop.now
    hasAsked = false
    wire.receive(octets)
    carryOut()
  }

  /// Carries out what was received, as far as there is room.
  func carryOut() {
    guard !isReceiving else { return }
    isReceiving = true
    defer { isReceiving = false }
    do throws(WireError) {
      while phase != .ended {
        flush()
        guard requests < Self.requestLimit, !isBehind else {
          stream.pause()
          break
        }
        guard let message = try wire.next() else {
          stream.resume()
          break
        }
        consume(message)
      }
    } catch {
      flush()
      return end(.wire(error))
    }
    flush()
  }

  private func consume(_ message: Wire.Message) {
    do throws(ProtobufError) {
      guard let request = try ClientMessage(type: message.type, message.body) else {
        return server.log(.debug, "\(label): message \(message.type) is not known")
      }
      if phase == .greeting {
        guard case .session(let request) = request, request.isAllowedBeforeHello else {
          return end(.noHello)
        }
      }
      switch request {
      case .session(let request): carryOut(request)
      case .advertisements(let request): carryOut(request)
      case .device(let request): carryOut(request)
      case .attribute(let request): carryOut(request)
      case .action(let request): carryOut(request)
      }
    } catch {
      end(.message(type: message.type, error))
    }
  }

  /// Sends a message. False if it does not fit into one, or the client has gone.
  @discardableResult func send(_ message: some ServerMessage) -> Bool {
    send(type: message.type, message.body)
  }

  @discardableResult func send(type: UInt16, _ body: [UInt8]) -> Bool {
    guard phase != .ended, wire.send(type: type, body) else { return false }
    if !isReceiving { flush() }
    return true
  }

  private func flush() {
    guard !wire.outbox.isEmpty else { return }
    stream.send(wire.outbox)
    wire.outbox.removeAll(keepingCapacity: wire.outbox.capacity <= 16_384)
  }

  /// Whether advertisements would only add to what the client does not read.
  var isBehind: Bool { stream.waiting > Self.advertisementLimit }

  func greeted(_ name: String, version: UInt32) {
    // The name is somebody else's: no more of it than a line of a log can bear.
    clientName = String(
      String.UnicodeScalarView(
        name.unicodeScalars.prefix(64).filter { $0.value >= 0x20 && $0.value != 0x7F }))
    self.version = version
    guard phase == .greeting else { return }
    phase = .established
    server.here { $0.established(self) }
    logConnection(.info, "connected", wasEstablished: true)
  }

  private func logConnection(_ level: LogLevel, _ text: String, wasEstablished: Bool) {
    let hasKey = wasEstablished && server.configuration.key != nil
    let line = "\(label): \(text)"
    server.here { $0.log(level, line, hasKey: hasKey) }
  }

  /// Drops a client that has not said hello in time, or that says nothing at all.
  func checkSilence() {
    let now = loop.now
    switch phase {
    case .greeting:
      if now - began >= Self.greetingTime.inNanoseconds { end(.noHello) }
    case .established:
      if let behindSince, now - behindSince >= Self.readingTime.inNanoseconds {
        return end(.stream(.notReading))
      }
      let silence = now - lastHeard
      if silence >= Self.silenceTime.inNanoseconds {
        end(.silence)
      } else if silence >= Self.pingTime.inNanoseconds, !hasAsked {
        hasAsked = true
        send(SessionAnswer.ping)
      }
    case .ended: break
    }
  }

  /// Drops the client and releases what it used.
  func end(_ reason: End) {
    guard phase != .ended else { return }
    let wasEstablished = isEstablished
    // One that can understand it is told that it is not a fault of the network.
    if wasEstablished, ![.disconnected, .silence].contains(reason), wire.isOpen {
      send(SessionAnswer.disconnect)
    }
    flush()
    phase = .ended
    roomWaiters.resumeAll(.failure(.cancelled))
    if case .stream = reason { stream.close() } else { stream.finish() }
    for device in devices.values { device.release() }
    devices = [:]
    logConnection(reason.level(wasEstablished), "\(reason)", wasEstablished: wasEstablished)
    server.here { $0.ended(id) }
  }
}

extension ESPHomeClient.End: CustomStringConvertible {
  var description: String {
    switch self {
    case .stream(.closedByPeer): "the client closed the connection"
    case .stream(.lost(let errno)): "the connection was lost (errno \(errno))"
    case .stream(.notReading):
      "dropped: it does not read what it asked for"
    case .wire(let error): "refused: \(error)"
    case .message(let type, let error): "refused: malformed message \(type): \(error)"
    case .noHello: "dropped: it did not say hello"
    case .silence: "dropped: it did not answer for \(ESPHomeClient.silenceTime)"
    case .gaveWay: "dropped: all places were taken, and it had not said hello"
    case .stopped: "dropped: the gateway stops"
    case .disconnected: "disconnected"
    }
  }

  fileprivate func level(_ wasEstablished: Bool) -> LogLevel {
    switch self {
    case .disconnected, .stopped, .stream(.closedByPeer), .stream(.lost): .info
    default: .warning
    }
  }
}
