import Atto
import AttoCommandLine
import AttoPeers
import AttoText

/// The commands of a session: its own, those on a connection, and others that need neither a terminal
/// nor standard input.
package struct SessionCommands: Sendable {
  /// A command as a session carries it out.
  package struct Command: Sendable {
    private enum Kind {
      case own(any (SessionVerb & SendableMetatype).Type)
      case onConnection(any (ConnectionCommand & SendableMetatype).Type)
      case other(any (AttoCommandLine.Command & SendableMetatype).Type)
    }

    private let kind: Kind
    /// The description, without ENDPOINT where the session has the connection.
    let description: CommandDescription
    /// Whether the command waits for others on its connection.
    let takesTurns: Bool

    package init(own command: any (SessionVerb & SendableMetatype).Type) {
      (kind, takesTurns) = (.own(command), command.takesTurns)
      description = command.description
    }

    fileprivate init(onConnection command: any (ConnectionCommand & SendableMetatype).Type) {
      (kind, takesTurns) = (.onConnection(command), true)
      description = command.description.inSession
    }

    fileprivate init(other command: any (AttoCommandLine.Command & SendableMetatype).Type) {
      (kind, takesTurns) = (.other(command), command is any HeldConnectionCommand.Type)
      description = command.description
    }

    /// What the command reads or writes; nil if nothing may run beside it on its connection.
    func access(_ arguments: Arguments) -> CommandAccess? {
      if case .onConnection(let command) = kind { command.access(arguments) } else { nil }
    }

    func run(
      _ arguments: Arguments, connection name: String, in session: CommandSession
    ) async throws {
      switch kind {
      case .own(let command):
        try await command.run(arguments, connection: name, in: session)
      case .onConnection(let command):
        let held = try await session.connection(name)
        try await command.init(arguments, for: held.endpoint).run(
          on: held.peer(on: session.loop, results: Results(arguments), place: arguments.place))
      case .other(let command):
        if let command = command as? any (HeldConnectionCommand & SendableMetatype).Type {
          guard !command.usesSession(arguments) else {
            let held = try await session.connection(name)
            return try await command.run(
              arguments,
              on: held.peer(on: session.loop, results: Results(arguments), place: arguments.place))
          }
          await arguments.place?.begun()
        }
        try await command.run(arguments, on: session.loop)
      }
    }
  }

  private static let own: [any (SessionVerb & SendableMetatype).Type] = [
    ConnectCommand.self, DisconnectCommand.self, ConnectionsCommand.self, UseCommand.self,
    RequestsCommand.self, CancelCommand.self, ControlCommand.self, ReplyCommand.self,
    AnswerCommand.self,
  ]
  /// Commands that are used nowhere else.
  private static let onConnection: [any (ConnectionCommand & SendableMetatype).Type] = [
    MTUCommand.self, SecurityCommand.self, LinkInfoCommand.self,
  ]

  /// In the order of `help`.
  let all: [Command]

  /// - Parameter commands: the subcommands of atto.
  package init(_ commands: [any (AttoCommandLine.Command & SendableMetatype).Type]) {
    all =
      Self.own.map { Command(own: $0) } + Self.onConnection.map { Command(onConnection: $0) }
      + commands.compactMap { type in
        if let type = type as? any (ConnectionCommand & SendableMetatype).Type {
          return Command(onConnection: type)
        }
        return type.description.runsInSession ? Command(other: type) : nil
      }
  }

  func named(_ name: String) throws(UsageError) -> Command {
    if let found = all.first(where: { $0.description.name == name }) { return found }
    throw UsageError(
      "unknown command \"\(name)\"",
      hint: Suggestion.hint(for: name, among: all.map(\.description.name)))
  }
}

/// A command that only a session has.
package protocol SessionVerb {
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
      name, summary, synopsis: synopsis.map { $0.replacing(each: "ENDPOINT ", with: "") },
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
