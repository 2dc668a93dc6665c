import Atto
import AttoATT
import AttoCommandLine
import AttoPeers

/// `connect` in a session.
enum ConnectCommand: SessionVerb {
  private static let name = Option.text(
    "as", "NAME", "The name of the connection (default: \(CommandSession.defaultConnection)).")

  static let description = CommandDescription(
    "connect", "Open a connection.", synopsis: ["ENDPOINT [--as NAME] [OPTIONS]"],
    arguments: [.endpoint], options: [name], groups: Connecting.options, timeLimit: .unlimited,
    examples: ["connect air:Strap --mtu 247", "connect le:AA:BB:CC:DD:EE:FF --as lamp"])
  static let takesTurns = true

  static func run(
    _ arguments: Arguments, connection name: String, in session: CommandSession
  ) async throws {
    let connecting = try Connecting(arguments)
    let name = arguments[Self.name] ?? name
    let held = try await session.connect(connecting, as: name)
    let (mtu, security) = try await (held.connection.mtu, held.connection.security)
    Results(arguments).print(
      "connected to \(connecting.endpoint), MTU \(mtu), \(Shown.security(security))",
      json: [
        "connection": name, "endpoint": connecting.endpoint.description, "mtu": mtu,
        "security": "\(security.level)",
      ])
  }
}

/// `disconnect` in a session.
enum DisconnectCommand: SessionVerb {
  static let description = CommandDescription(
    "disconnect", "Close a connection.", synopsis: ["[NAME]"],
    arguments: [ArgumentDescription(name: "NAME", summary: "The connection.")],
    timeLimit: .unlimited, examples: ["disconnect", "disconnect lamp"])

  static func run(
    _ arguments: Arguments, connection name: String, in session: CommandSession
  ) async throws {
    try await session.connection(arguments.words.first ?? name).close()
  }
}

/// `connections` in a session.
enum ConnectionsCommand: SessionVerb {
  static let description = CommandDescription(
    "connections", "List the open connections.", synopsis: [""], examples: ["connections"])

  static func run(
    _ arguments: Arguments, connection name: String, in session: CommandSession
  ) async throws {
    let results = Results(arguments)
    for (name, endpoint) in await session.openConnections {
      results.print(
        "\(name)  \(endpoint)", json: ["connection": name, "endpoint": endpoint.description])
    }
  }
}

/// `use` in a session.
enum UseCommand: SessionVerb {
  static let description = CommandDescription(
    "use", "Choose the connection for the commands that follow.", synopsis: ["NAME"],
    arguments: [ArgumentDescription(name: "NAME", summary: "The connection.")],
    examples: ["use lamp"])

  static func run(
    _ arguments: Arguments, connection name: String, in session: CommandSession
  ) async throws {
    try await session.use(arguments.word(0, "NAME"))
  }
}

/// `mtu` in a session.
struct MTUCommand: ConnectionCommand {
  static let description = CommandDescription(
    "mtu", "Print the ATT_MTU, or change it first.",
    synopsis: ["ENDPOINT [--exchange] [--raise N]"],
    arguments: [.endpoint], options: [exchange, raise],
    examples: ["atto mtu air:Strap --exchange", "atto mtu air:Strap --bearers 2 --raise 247"])
  private static let exchange = Option.flag(
    "exchange", "Exchange the MTU; possible once on each connection.")

  private static let raise = Option.integer(
    "raise", "N", in: 64...65535,
    "Raise the MTU of this end's enhanced bearers to N, which the peer may refuse to use.")

  private let exchanges: Bool
  private let raised: Int?

  init(_ arguments: Arguments, for endpoint: Endpoint) throws {
    exchanges = arguments[Self.exchange]
    raised = arguments[Self.raise]
  }

  func run(on peer: ConnectedPeer) async throws {
    let connection = peer.connection
    let mtu = exchanges ? try await connection.exchangeMTU() : try await connection.mtu
    if let raised { try await connection.raiseBearerMTU(to: raised) }
    let bearers = try await connection.bearers
    if raised != nil, bearers.count == 1 {
      throw UsageError(
        "--raise is for enhanced bearers, and the connection has none",
        hint: "connect with --bearers N")
    }
    guard bearers.count > 1 else { return peer.results.print("MTU \(mtu)", json: ["mtu": mtu]) }
    let text = try await Bearers.text(of: connection)
    let json = try await Bearers.json(of: connection)
    peer.results.print(
      "MTU \(mtu), bearers: \(text)",
      json: ["mtu": mtu, "bearers": json])
  }
}

/// `security` in a session.
struct SecurityCommand: ConnectionCommand {
  static let description = CommandDescription(
    "security", "Print the security of the link, or raise it first.",
    synopsis: ["ENDPOINT [LEVEL]"],
    arguments: [
      .endpoint,
      ArgumentDescription(name: "LEVEL", summary: "The level: low, medium, high or fips."),
    ], examples: ["atto security air:Strap medium"])

  private let level: SecurityLevel?

  init(_ arguments: Arguments, for endpoint: Endpoint) throws {
    level = try arguments.operands.first.map { word throws(UsageError) in
      guard let level = SecurityLevel.allCases.first(where: { "\($0)" == word }) else {
        throw UsageError("invalid level \"\(word)\": expected low, medium, high or fips")
      }
      return level
    }
  }

  func run(on peer: ConnectedPeer) async throws {
    if let level { try await peer.connection.raiseSecurity(to: level) }
    let security = try await peer.connection.security
    peer.results.print(
      Shown.security(security),
      json: ["security": "\(security.level)", "keySize": Int(security.keySize)])
  }
}
