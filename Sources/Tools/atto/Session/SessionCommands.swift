import Atto

/// The commands of a session: its own, those on a connection, and others that need neither a terminal
/// nor standard input.
struct SessionCommands: Sendable {
  /// A command as a session carries it out.
  enum Command: Sendable {
    case own(any (SessionVerb & SendableMetatype).Type)
    case onConnection(any (ConnectionCommand & SendableMetatype).Type)
    case other(any (AttoCLI.Command & SendableMetatype).Type)

    /// The description, without ENDPOINT where the session has the connection.
    var description: CommandDescription {
      switch self {
      case .own(let command): command.description
      case .onConnection(let command): command.description.inSession
      case .other(let command): command.description
      }
    }

    /// Whether the command waits for others on its connection.
    var takesTurns: Bool {
      switch self {
      case .own(let command): command.takesTurns
      case .onConnection: true
      case .other: false
      }
    }

    func run(
      _ arguments: Arguments, connection name: String, in session: CommandSession
    ) async throws {
      switch self {
      case .own(let command):
        try await command.run(arguments, connection: name, in: session)
      case .onConnection(let command):
        let held = try await session.connection(name)
        try await command.init(arguments, for: held.endpoint).run(
          on: ConnectedPeer(
            connection: held.connection, endpoint: held.endpoint, store: held.store,
            results: Results(arguments), loop: session.loop, place: arguments.place))
      case .other(let command): try await command.run(arguments, on: session.loop)
      }
    }
  }

  private static let own: [any (SessionVerb & SendableMetatype).Type] = [
    ConnectCommand.self, DisconnectCommand.self, ConnectionsCommand.self, UseCommand.self,
    RequestsCommand.self, CancelCommand.self, ControlCommand.self, AnswerCommand.self,
  ]
  /// Commands that are used nowhere else.
  private static let onConnection: [any (ConnectionCommand & SendableMetatype).Type] = [
    MTUCommand.self, SecurityCommand.self,
  ]
  let all: [(name: String, command: Command)]

  /// - Parameter commands: the subcommands of atto.
  init(_ commands: [any (AttoCLI.Command & SendableMetatype).Type]) {
    all =
      Self.own.map { ($0.description.name, .own($0)) }
      + Self.onConnection.map { ($0.description.name, .onConnection($0)) }
      + commands.compactMap { type in
        if let type = type as? any (ConnectionCommand & SendableMetatype).Type {
          return (type.description.name, .onConnection(type))
        }
        return type.description.runsInSession ? (type.description.name, .other(type)) : nil
      }
  }

  func named(_ name: String) throws(UsageError) -> Command {
    if let found = all.first(where: { $0.name == name }) { return found.command }
    throw UsageError(
      "unknown command \"\(name)\"", hint: Suggestion.hint(for: name, among: all.map(\.name)))
  }
}

/// A command that only a session has.
protocol SessionVerb {
  static var description: CommandDescription { get }
  /// Whether the command waits for others on its connection.
  static var takesTurns: Bool { get }

  static func run(
    _ arguments: Arguments, connection name: String, in session: CommandSession
  ) async throws
}

extension SessionVerb {
  static var takesTurns: Bool { false }
}

extension CommandDescription {
  /// The description of a command on a connection that a session holds.
  var inSession: CommandDescription {
    let left = ownOptions.map { "--\($0.description.name)" } + ["--json"]
    return CommandDescription(
      name, summary, synopsis: synopsis.map { $0.replacing("ENDPOINT ", with: "") },
      arguments: Array(arguments.dropFirst()), details: details,
      options: ownOptions + [CommonOptions.json], timeLimit: timeLimit.inSession,
      examples: examples.filter { example in
        example.split(separator: " ").allSatisfy {
          !$0.hasPrefix("--") || left.contains(String($0))
        }
      }.map { Self.withoutEndpoint($0) })
  }

  /// `read 0x0003` for `atto read air:Strap 0x0003`.
  private static func withoutEndpoint(_ example: String) -> String {
    let words = example.split(separator: " ")
    return (words.dropFirst().prefix(1) + words.dropFirst(3)).joined(separator: " ")
  }
}
