import Atto
import AttoCommandLine
import AttoPeers
import AttoSessions
import Glibc

/// `atto session`: many commands on open connections.
enum SessionCommand: Command {
  private static let script = Option.file(
    "script", "FILE", "Carry out the lines of FILE, up to the first that fails.")

  static let description = CommandDescription(
    "session", "Carry out many commands on open connections.",
    synopsis: ["[ENDPOINT] [OPTIONS]", "[ENDPOINT] --script FILE [OPTIONS]"],
    arguments: [.endpoint],
    details: """
      The command reads lines from standard input. Each line is a command of atto without "atto" and
      ENDPOINT, such as read 0x0003; help lists them. The connection stays open between commands, and
      values of subscriptions are printed as they arrive.

      If standard input is not a terminal, or with --script, the session ends at the first line that
      fails, with the status of that command.

      With --json, each line is a request as a JSON object, and requests run at the same time. Session.md
      describes this protocol.
      """,
    options: [script], groups: Connecting.options, timeLimit: .open,
    examples: [
      "atto session air:Strap", "atto session --script Fixtures/strap.session",
      #"echo '{"id":1,"command":"read","arguments":[3]}' | atto session air:Lab --json"#,
    ])

  static func run(_ arguments: Arguments, on loop: Loop) async throws {
    // The command's own arguments open the first connection.
    let connecting = arguments.words.isEmpty ? nil : arguments
    if let connecting { _ = try Connecting(connecting) }
    let commands = SessionCommands(AllCommands.types)
    if arguments[CommonOptions.json] {
      try arguments.forbid([script], "cannot be combined with --json")
      try await JSONSession.run(commands, connecting: connecting, on: loop)
    } else if !arguments.has(script), isatty(STDIN_FILENO) == 1, Terminal.isOutputTerminal {
      try await Shell.run(commands, connecting: connecting, on: loop)
    } else {
      try await Script.run(arguments[script], commands, connecting: connecting, on: loop)
    }
  }
}
