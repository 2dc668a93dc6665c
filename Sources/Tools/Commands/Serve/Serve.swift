import Atto
import AttoCommandLine
import AttoFormats
import AttoPeers
import AttoProfileServer
import AttoStore
import Synchronization

/// `atto serve`: a GATT server described by a file.
package enum ServeCommand: Command {
  private static let listen = Option.text(
    "listen", "ENDPOINT", "Where to listen (default: le: if an adapter is powered on, else air:).",
    kind: .place)
  private static let once = Option.flag("once", "End after the first client.")
  private static let control = Option.flag(
    "control", "Read commands from standard input, see above.")
  private static let mtu = Option.integer(
    "mtu", "N", in: 23...65535,
    "The MTU to offer when a client exchanges it, 23 to 65535 (default: the profile's, or 517).")
  private static let timeout = Option.seconds(
    "timeout", "How long to wait for each confirmation (default: 30).")

  private static let idleLimit = Option.seconds(
    "idle-limit",
    "Disconnect clients that send nothing for so long and are not subscribed, except on le: (default: no limit)."
  )

  private static let backlog = Option.integer(
    "backlog", "N", in: 0...65535,
    "Notifications to keep for a client that takes them more slowly than others (default: 1024; 0: all"
      + " clients wait for the slowest).")
  private static let disconnectSlow = Option.flag(
    "disconnect-slow",
    "Disconnect a client whose backlog is full (default: it loses its oldest values).")

  private static let replyTimeout = Option.seconds(
    "reply-timeout", default: 10,
    "How long the program of a session may take to reply to a question about a value.")

  private static let linkInfo = Option.flag(
    "link-info", "Print the parameters of the adapter's links when they begin and change, on le:.")

  package static let description = CommandDescription(
    "serve", "Run a GATT server from a profile.",
    synopsis: ["PROFILE.json [--listen ENDPOINT] [OPTIONS]"],
    arguments: [
      ArgumentDescription(
        name: "PROFILE.json", summary: "The services, values and behaviour.", kind: .file)
    ],
    details: """
      The command prints what clients do. Lines that nobody reads are dropped and counted: they do not
      stop the server. On a radio it also advertises the profile's name and services.
      With --listen fd:N it serves the one client of the inherited descriptor, and ends with it.

      Clients may pair. Without --io this is Just Works; with it, the command asks for what a person has
      to compare or enter, and reads answers from standard input, unless --control reads that. On le: the
      server remembers the subscriptions of bonded clients.

      Up to 1024 clients are served at a time. On unix: and air: a further one takes the place of a
      client that has sent nothing, or of one of a process with many; else it is refused. When very many
      clients connect or are refused, the rest is counted in one line every 10 s.

      A value goes at once to the subscribed clients that have room. For the others it is kept, up to
      --backlog values; then such a client loses its oldest, which is printed. While no client has room,
      --control and the profile's streams wait.

      With --control each line of standard input is a command:

        set HANDLE HEX                   change a value
        notify HANDLE HEX [to CLIENT]    notify the subscribed clients
        indicate HANDLE HEX [to CLIENT]  indicate to the subscribed clients
        disconnect [CLIENT]              close the links to all clients, or to one
        add PROFILE.json                 add the services of another profile
        remove HANDLE                    remove the service at HANDLE

      CLIENT is the number of a client, as printed: only this client gets the value, or loses its link.
      A line that fails is reported on standard error, with --json as an object.
      """,
    options: [
      listen, ListeningGroup.option, once, control, mtu, timeout, idleLimit, backlog,
      disconnectSlow, replyTimeout,
      CommonOptions.security, CommonOptions.phy, linkInfo, CommonOptions.bearers,
      CommonOptions.sendBuffer,
      CommonOptions.json, CommonOptions.capture, CommonOptions.trace,
    ], groups: [PairingOptions.group, StoreOptions.group],
    timeLimit: .open(unless: [once]), delivery: .log, runsInSession: true,
    examples: [
      "atto serve Fixtures/heart-rate.json --listen air:Strap",
      "atto serve Fixtures/bench.json --listen unix:/tmp/bench --once --trace",
      #"echo "set 0x15 02" | atto serve Fixtures/heart-rate.json --control"#,
    ])

  package static func run(_ arguments: Arguments, on loop: Loop) async throws {
    if arguments.place != nil {
      try arguments.forbid([control], "is for a command of its own: use control in a session")
    }
    let profile =
      if let inline = arguments.place?.profile { inline } else {
        try await Profile.read(arguments.word(0, "PROFILE.json"), on: loop)
      }
    let endpoint = try await Radios.endpoint(arguments[listen], on: loop)
    var listening = profile.listenOptions
    listening.unixGroup = try ListeningGroup.id(arguments, for: endpoint)
    listening.idleLimit = arguments[idleLimit]
    var options = listening.connection
    if let mtu = arguments[mtu] { options.receiveMTU = mtu }
    if let timeout = arguments[timeout] { options.transactionTimeout = timeout }
    options.backlog = try kept(arguments)
    options.security = arguments[CommonOptions.security].level
    if let bearers = arguments[CommonOptions.bearers] {
      options.enhancedBearers = try Bearers.checked(bearers, at: endpoint)
    }
    options.sendBuffer = arguments[CommonOptions.sendBuffer]
    options.phy = try PHYChoice.checked(arguments, at: endpoint)
    try Monitor.add(to: &options, arguments, CaptureEnds(of: endpoint, isCentral: false))
    listening.connection = options

    let report = ServeReport(results: Results(arguments), on: loop)
    // Before the store is opened, because it checks arguments.
    let agent = try ConsoleAgent(arguments, readsInput: !arguments[control], on: loop) {
      report.pairing($0)
    }
    listening.setAgent(agent, at: endpoint)
    let serverBox = BondedServer()
    let bonds = try await savedBonds(arguments, endpoint, serverBox, on: loop)
    defer { withExtendedLifetime(bonds) {} }
    let firstClient = AsyncThrowingStream<Void, any Error>.makeStream()
    let isOnce = if case .descriptor = endpoint { true } else { arguments[once] }
    let limits = ServerLimits.fittingMemory(receiveMTU: options.receiveMTU)
    if limits.clients < ServerLimits().clients {
      Terminal.note(
        "atto serve: warning: serving at most \(Shown.count(limits.clients, "client")) at a time,"
          + " because the memory of this process is limited (ulimit -v, ulimit -d)"
      )
    }
    let served = try await ProfileServer(
      profile, loop: loop, limits: limits,
      memory: bonds.store.map { StoreMemory($0, onFailure: StoreOptions.report) },
      application: try application(arguments, for: profile)
    ) { event in
      report.happened(event) { handle in
        serverBox.server.withLock { $0 }?.valueNow(of: handle)
      }
      if isOnce, case .server(.disconnected) = event { firstClient.continuation.finish() }
    }
    serverBox.server.withLock { $0 = served.server }
    // The server retains its observer, and with it the box.
    defer { serverBox.server.withLock { $0 = nil } }
    if endpoint.isAdvertised {
      profile.advertisingParameters.noteShortenedName(description.name)
    }
    // Opened first: the kernel tells of links that are made from then on.
    let radio = try await watched(arguments, at: endpoint, on: loop)
    let showing = Task(executorPreference: loop.tasks) {
      if let radio { for await change in radio.changes { report.changed(change) } }
    }
    defer {
      showing.cancel()
      withExtendedLifetime(radio) {}
    }
    let listener = try await served.listen(
      on: endpoint, options: listening, onFailure: { report.failed($0) },
      onEnd: { firstClient.continuation.finish(throwing: $0) })
    defer {
      listener.stop()
      report.end()
    }
    if let notice = listener.notice { Terminal.note("atto serve: warning: \(notice)") }
    if let obstacle = listener.bearerFailure {
      Terminal.note("atto serve: warning: no enhanced bearers: \(obstacle)")
      Terminal.note(hintsFor: obstacle)
    }

    if let place = arguments.place {
      let control = Control(served, on: loop)
      await place.serves { try await control.carryOut($0, report: $1) }
    }
    report.listening(
      listener.endpoint, arguments.place?.isJSON ?? false ? try profile.layout() : nil)
    await arguments.place?.begun()
    let control = arguments[control] ? Control(served, on: loop) : nil
    let controlling = Task(executorPreference: loop.tasks) {
      try await control?.run(StandardInput(on: loop))
    }
    defer { controlling.cancel() }
    // Ends with the first client for --once, else when the task is cancelled.
    for try await _ in firstClient.stream {}
    served.server.disconnect()
  }

  /// An adapter whose links are shown, with `--link-info` and for what has come of `--phy`.
  private static func watched(
    _ arguments: Arguments, at endpoint: Endpoint, on loop: Loop
  ) async throws -> (Adapter, changes: AsyncStream<LinkChange>)? {
    guard arguments[linkInfo] || arguments[CommonOptions.phy] != nil else { return nil }
    guard case .leAny(let source) = endpoint else {
      throw UsageError("--link-info requires an le: adapter, not \"\(endpoint)\"")
    }
    let adapter = try await Adapter.kernel(source, loop: loop)
    do throws(RadioError) {
      return (adapter, try await adapter.linkChanges())
    } catch {
      guard !arguments[linkInfo] else { throw error }
      Terminal.note("atto serve: the PHY in use is unknown: \(error)")
      return nil
    }
  }

  /// What is kept for a slow client.
  private static func kept(_ arguments: Arguments) throws(UsageError) -> ConnectionOptions.Backlog?
  {
    var kept = ConnectionOptions.Backlog()
    kept.overflow = arguments[disconnectSlow] ? .disconnects : .dropsOldest
    guard let values = arguments[backlog] else { return kept }
    kept.values = values
    // The number alone decides: no value has more than 512 octets.
    kept.octets = max(kept.octets, values * 512)
    guard values == 0 else { return kept }
    try arguments.forbid([disconnectSlow], "needs a --backlog of 1 or more")
    return nil
  }

  /// Answers for the values that the profile leaves to the program: by questions to it.
  private static func application(
    _ arguments: Arguments, for profile: Profile
  ) throws(UsageError) -> ProfileApplication? {
    guard let place = arguments.place, place.isJSON else {
      if profile.services.contains(where: { $0.characteristics.contains(where: \.isAnswered) }) {
        throw UsageError(
          "the profile leaves values to a program (\"application\": true)",
          hint: "serve it with atto session --json, whose program is asked for them")
      }
      try arguments.forbid([replyTimeout], "is for atto session --json")
      return nil
    }
    let (results, time) = (Results(arguments), arguments[replyTimeout])
    return ProfileApplication(
      read: { (request) throws(ErrorCode) in
        try await place.ask(within: time) { question in
          ServeReport.ask(results, "read", request.client, request.handle, ["question": question])
        }
      },
      write: { (writes) throws(ErrorCode) in
        guard let first = writes.first else { return }
        if first.isCommand {
          await Terminal.room()
          return ServeReport.ask(
            results, "write", first.client, first.handle, ["parts": parts(of: writes)])
        }
        _ = try await place.ask(within: time) { question in
          ServeReport.ask(
            results, "write", first.client, first.handle,
            ["parts": parts(of: writes), "question": question])
        }
      })
  }

  private static func parts(of writes: [WriteRequestContext]) -> [JSONObject] {
    writes.map { ["offset": $0.offset, "value": Shown.hex($0.value)] }
  }

  /// Clients on the kernel's Bluetooth may bond. Their keys and subscriptions are saved.
  private static func savedBonds(
    _ arguments: Arguments, _ endpoint: Endpoint, _ served: BondedServer, on loop: Loop
  ) async throws -> SavedBonds {
    let options = try StoreOptions(arguments)
    guard case .leAny(let source) = endpoint else { return SavedBonds() }
    return try await SavedBonds.begin(options, source, peer: nil, mayPair: true, on: loop) { _ in
      served.server.withLock { $0 }?.bondsChanged()
    }
  }
}

extension Profile.Characteristic {
  fileprivate var isAnswered: Bool { behaviour?.isAnswered ?? false }
}

extension Endpoint {
  /// Whether a server on this endpoint is advertised.
  fileprivate var isAdvertised: Bool {
    switch self {
    case .air, .leAny: true
    case .le, .unix, .descriptor: false
    }
  }
}

/// The server that new bonds are reported to, once it exists.
private final class BondedServer: Sendable {
  let server = Mutex<LocalServer?>(nil)
}
