import Atto
import Files
import Store
import Synchronization

/// `atto serve`: a GATT server from a file.
enum ServeCommand: Command {
  static let name = "serve"
  static let examples = [
    "atto serve Fixtures/heart-rate.json --listen air:Strap",
    "atto serve Fixtures/bench.json --listen unix:/tmp/bench --once --trace",
    #"echo "set 0x0015 02" | atto serve Fixtures/heart-rate.json --control --listen air:Strap"#,
  ]
  static let summary = "A GATT server from a profile."
  static let usage = "PROFILE.json [--listen ENDPOINT] [OPTIONS]"
  static let options =
    [
      OptionSpec(
        "listen", "ENDPOINT",
        "where to wait for clients (le: with a powered adapter, else air:)"),
      OptionSpec("once", nil, "end after the first client"),
      OptionSpec("control", nil, "take lines on standard input, see above"),
      OptionSpec("mtu", "N", "what to offer when a client exchanges the MTU (23 to 65535)"),
      OptionSpec("timeout", "SECONDS", "for each confirmation (30)"),
      OptionSpec("security", "LEVEL", "low, medium, high or fips: what links are raised to"),
      .sendBuffer, .json, .capture, .trace,
    ] + PairingOptions.specs + StoreOptions.specs
  static let notes =
    "Centrals may pair: without --io when nothing is to be compared, with it by what a person\n"
    + "here must see or type; answers are lines of standard input (--control leaves none).\n"
    + "An inherited descriptor (fd:N) has one client, and its end is the server's.\n"
    + "The lines of --control: \(Control.help)."

  static func run(_ arguments: Arguments, on loop: Loop) async throws {
    let profile = try Profile(contentsOfFile: arguments.word(0, "the profile"))
    try arguments.allow(words: 1)
    let database = try profile.database()
    let endpoint = try await Radios.endpoint(arguments.value("listen"), on: loop)
    var options = ConnectionOptions()
    options.receiveMTU =
      try arguments.integer("mtu", in: 23...65535) ?? profile.mtu.map { Int($0) } ?? 517
    if let timeout = try arguments.duration("timeout") { options.transactionTimeout = timeout }
    options.security = try arguments.securityLevel()
    options.sendBuffer = try arguments.sendBuffer()
    options.monitor = try Monitor.make(arguments)

    let pairing = try PairingOptions(arguments)
    let serverBox = BondedServer()
    let bonds = try await keptBonds(arguments, endpoint, serverBox, on: loop)
    defer { withExtendedLifetime(bonds) {} }
    let server = LocalServer(
      database.database, loop: loop,
      memory: bonds.store.map { StoreMemory($0, onFailure: StoreOptions.report) })
    serverBox.server.withLock { $0 = server }

    let report = ServeReport(isJSON: arguments.has("json"))
    let agent = ConsoleAgent(options: pairing, loop: arguments.has("control") ? nil : loop) {
      report.pairing($0)
    }
    let firstClient = AsyncThrowingStream<Void, any Error>.makeStream()
    let isOnce = if case .descriptor = endpoint { true } else { arguments.has("once") }
    let observation = try await server.observe { event in
      report.happened(event) { server.keptValue(of: $0) }
      if isOnce, case .disconnected = event { firstClient.continuation.finish() }
    }
    defer { withExtendedLifetime(observation) {} }
    let values = database.behaviours.map { BehavedValue($0) }
    let player = ProfilePlayer(values, on: server, report)
    let playing = Task(executorPreference: loop.tasks) { try await player.play() }
    defer { playing.cancel() }
    let listener = try await server.listen(
      on: endpoint, options: options, advertising: try advertising(profile, endpoint),
      agent: endpoint.isAir && !pairing.isStated ? nil : agent, onFailure: { report.failed($0) },
      onEnd: { firstClient.continuation.finish(throwing: $0) })
    defer { listener.stop() }
    if let notice = listener.notice { Terminal.note("atto serve: \(notice)") }
    report.listening(listener.endpoint)

    let control = arguments.has("control") ? Control(server: server, report: report) : nil
    let controlling = Task(executorPreference: loop.tasks) {
      try await control?.run(StandardInput(on: loop))
    }
    defer { controlling.cancel() }
    // Ends with the first client if that was wished, else when the task is cancelled.
    for try await _ in firstClient.stream {}
    server.disconnect()
  }

  /// On the kernel's radio clients may bond; what they configure is kept then.
  private static func keptBonds(
    _ arguments: Arguments, _ endpoint: Endpoint, _ served: BondedServer, on loop: Loop
  ) async throws -> KeptBonds {
    let options = try StoreOptions(arguments)
    guard case .leAny(let source) = endpoint else { return .none }
    return try await KeptBonds.begin(options, source, peer: nil, mayPair: true, on: loop) { _ in
      served.server.withLock { $0 }?.bondsChanged()
    }
  }

  /// What the radio says: what the profile states, and its name where that fits.
  private static func advertising(
    _ profile: Profile, _ endpoint: Endpoint
  ) throws -> AdvertisingParameters {
    var data = AdvertisingData()
    let stated = profile.advertising
    data.localName = stated?.localName ?? profile.name
    data.serviceUUIDs = stated?.serviceUUIDs ?? []
    data.txPower = stated?.txPower
    data.appearance = stated?.appearance
    data.manufacturerData =
      stated?.manufacturerData.map {
        AdvertisingData.ManufacturerData(company: $0.company, $0.data)
      } ?? []
    data.serviceData =
      stated?.serviceData.map { AdvertisingData.ServiceData($0.service, $0.data) } ?? []
    var parameters = AdvertisingParameters(data)
    if let interval = stated?.interval { parameters.interval = interval }
    parameters.isConnectable = stated?.isConnectable ?? true
    if endpoint.isAdvertised {
      ShortenedName.tell(data, isConnectable: parameters.isConnectable, name)
    }
    return parameters
  }
}

extension Endpoint {
  /// Whether who listens here is advertised.
  fileprivate var isAdvertised: Bool {
    switch self {
    case .air, .leAny: true
    case .le, .unix, .descriptor: false
    }
  }
}

/// The server that is told of new bonds, as soon as there is one.
private final class BondedServer: Sendable {
  let server = Mutex<LocalServer?>(nil)
}
