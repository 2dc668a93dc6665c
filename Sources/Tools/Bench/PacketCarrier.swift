import Atto
import AttoCommandLine
import AttoEventLoop
import AttoGATT

/// Carries the packets of a scenario in both directions. Used on the loop's thread only.
package protocol PacketCarrier: AnyObject {
  /// For progress and results.
  var mtu: Int { get }
  /// The PDUs of both directions, if they are counted.
  var pdus: UInt64 { get async }
  /// Nanoseconds for which a channel had no room.
  var waited: Int64 { get }
  /// Whether each packet awaits a response.
  var isAcknowledged: Bool { get }
  /// Waits until the peer is ready. `receive` is called with each packet, and with nil at the end of the
  /// link.
  func open(_ receive: @escaping (RawSpan?) -> Void) async throws
  /// Sends a packet when there is room.
  func send(_ packet: [UInt8]) async throws
  /// Has each packet timed from now on: `took` is called with the times of commands, and ``exchange`` has those of a
  /// packet with its answer. nil if this carrier cannot.
  func timeStages(
    of operation: StagedOperation, _ took: @escaping (TimedExchange) -> Void
  ) async throws -> StageTimes?
  /// The times of the last packet and of its answer, in the call that receives the answer.
  var exchange: TimedExchange? { get }
}

extension PacketCarrier {
  var waited: Int64 { 0 }
  func timeStages(
    of operation: StagedOperation, _ took: @escaping (TimedExchange) -> Void
  ) async throws -> StageTimes? { nil }
  var exchange: TimedExchange? { nil }
}

/// The service of `bumble-bench`.
enum SpeedService {
  static let uuid = BluetoothUUID(high: 0x50DB_505C_8AC4_4738, low: 0x8448_3B1D_9CC0_9CC5)
  /// Packets to the server, which are written.
  static let toServer = BluetoothUUID(high: 0xE789_C754_41A1_45F4, low: 0xA948_A0A1_A90D_BA53)
  /// Packets to the client, which are notified.
  static let toClient = BluetoothUUID(high: 0x016A_2CC7_E14B_4819, low: 0x935F_1F56_EAE4_098D)
}

/// The end that has connected: writes packets, and receives notifications.
final class GATTClientCarrier: PacketCarrier {
  private let connection: Connection
  private let loop: Loop
  private(set) var isAcknowledged: Bool
  private var toServer = AttributeHandle.invalid
  private(set) var mtu = 23
  private var watch: Task<Void, any Error>?
  /// The times of a packet and its answer. Apart from the carrier, so that the connection does not retain that.
  private let times = Times()

  private final class Times {
    var sent: TimedExchange.Sending?
    var exchange: TimedExchange?

    func took(_ exchange: TimedExchange) {
      switch exchange {
      case .command(let sent): self.sent = sent
      case .value(let response):
        self.exchange = sent.map { .roundTrip(sent: $0, response: response) }
        sent = nil
      case .roundTrip: break
      }
    }
  }

  init(_ connection: Connection, isAcknowledged: Bool, on loop: Loop) {
    (self.connection, self.loop, self.isAcknowledged) = (connection, loop, isAcknowledged)
  }

  deinit { watch?.cancel() }

  var pdus: UInt64 {
    get async {
      guard let counters = try? await connection.counters else { return 0 }
      return counters.sent + counters.received
    }
  }

  func open(_ receive: @escaping (RawSpan?) -> Void) async throws {
    let database = try await connection.discover()
    let service = database.services.first { $0.uuid == SpeedService.uuid }
    guard let service,
      let to = service.characteristics.first(where: { $0.uuid == SpeedService.toServer }),
      let from = service.characteristics.first(where: { $0.uuid == SpeedService.toClient }),
      let configuration = from.cccd
    else {
      throw UsageError(
        "the peer has no service for --scenario (\(SpeedService.uuid))",
        hint: "run atto bench --listen ENDPOINT --scenario receive, or bumble-bench, as the peer")
    }
    toServer = to.valueHandle
    if !to.properties.contains(.writeWithoutResponse) { isAcknowledged = true }
    mtu = try await connection.mtu
    let receiver = LoopBound(receive, loop)
    connection.observeValues { [handle = from.valueHandle] value, octets in
      if value == handle { receiver.value(octets) }
    }
    watch = Task(executorPreference: loop.tasks) { [connection] in
      try await connection.waitUntilClosed()
      receiver.value(nil)
    }
    try await connection.write(
      ClientCharacteristicConfiguration.notification.octets, to: configuration.handle)
  }

  func timeStages(
    of operation: StagedOperation, _ took: @escaping (TimedExchange) -> Void
  ) async throws -> StageTimes? {
    let bound = LoopBound((times, took), loop)
    return try await connection.timeStages(of: operation) { exchange in
      let (times, took) = bound.value
      times.took(exchange)
      took(exchange)
    }
  }

  var exchange: TimedExchange? { times.exchange }

  func send(_ packet: [UInt8]) async throws {
    (times.sent, times.exchange) = (nil, nil)
    if isAcknowledged {
      try await connection.write(packet, to: toServer)
    } else {
      try await connection.writeWithoutResponse(packet, to: toServer)
    }
  }
}

/// The end that a peer connects to: receives writes, and notifies packets. Only the first client that
/// subscribes takes part.
final class GATTServerCarrier: PacketCarrier {
  private let server: LocalServer
  private let toServer: AttributeHandle
  private let toClient: AttributeHandle
  private var client: ClientID?
  private var observation: ServerObservation?
  private let listen: (LocalServer) async throws -> ServerListener

  /// - Parameter listen: starts to listen.
  init(on loop: Loop, listen: @escaping (LocalServer) async throws -> ServerListener) async throws {
    server = LocalServer(Database(name: "Atto Bench"), loop: loop)
    self.listen = listen
    let layout = try await server.add(
      ServiceDefinition(
        SpeedService.uuid,
        characteristics: [
          CharacteristicDefinition(
            SpeedService.toServer, properties: [.write, .writeWithoutResponse],
            value: .application(ValueLimits(maximumLength: 512))),
          CharacteristicDefinition(SpeedService.toClient, properties: .notify, value: .stored([])),
        ]))
    toServer = layout[SpeedService.toServer].valueHandle
    toClient = layout[SpeedService.toClient].valueHandle
  }

  let isAcknowledged = false
  var mtu: Int { 0 }
  var pdus: UInt64 { get async { 0 } }

  func open(_ receive: @escaping (RawSpan?) -> Void) async throws {
    let carrier = LoopBound(self, server.loop)
    let receiver = LoopBound(receive, server.loop)
    let ready = AsyncStream<Void>.makeStream()
    server.onWriteInline(of: toServer) { origin, octets in
      if origin.client == carrier.value.client { receiver.value(octets) }
      return .accepted
    }
    observation = try await server.observe { [toClient] event in
      switch event {
      case .server(.configured(toClient, let configuration, let client)):
        guard carrier.value.client == nil, configuration.contains(.notification) else { return }
        carrier.value.client = client
        ready.continuation.finish()
      case .disconnected(carrier.value.client, _): receiver.value(nil)
      default: break
      }
    }
    let listener = try await listen(server)
    Terminal.note("listening on \(listener.endpoint)")
    for await _ in ready.stream {}
    listener.stop()
    try Task.checkCancellation()
  }

  func send(_ packet: [UInt8]) async throws {
    let delivered = try await server.notify(packet, of: toClient, to: client)
    guard delivered.count > 0 else { throw Unreachable(message: "the peer has disconnected") }
    guard delivered.cut == 0 else {
      throw UsageError(
        "packets of \(packet.count) octets require an MTU of \(packet.count + 3)",
        hint: "the peer has to exchange the MTU, or use a smaller --size")
    }
  }

  /// Ends the connection.
  func close() { server.disconnect() }
}
