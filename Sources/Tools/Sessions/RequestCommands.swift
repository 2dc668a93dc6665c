import Atto
import AttoCommandLine

/// `requests` in a session.
enum RequestsCommand: SessionVerb {
  static let description = CommandDescription(
    "requests", "List the requests in progress, such as subscriptions.", synopsis: [""],
    examples: ["requests"])

  static func run(
    _ arguments: Arguments, connection name: String, in session: CommandSession
  ) async throws {
    let results = Results(arguments)
    for (id, command) in await session.requests where id != arguments.place?.request {
      results.print("\(id)  \(command)", json: ["request": id, "command": command])
    }
  }
}

/// `cancel` in a session.
enum CancelCommand: SessionVerb {
  static let description = CommandDescription(
    "cancel", "End a request, as Ctrl-C ends a command.", synopsis: ["REQUEST"],
    arguments: [ArgumentDescription(name: "REQUEST", summary: "The ID of the request.")],
    details: "A subscription that is ended so is cleared at the peer.",
    examples: ["cancel 7"])

  static func run(
    _ arguments: Arguments, connection name: String, in session: CommandSession
  ) async throws {
    try await session.cancel(arguments.word(0, "REQUEST"))
  }
}

/// `answer` in a session.
enum AnswerCommand: SessionVerb {
  static let description = CommandDescription(
    "answer", "Answer the question of a pairing.", synopsis: ["TEXT"],
    arguments: [ArgumentDescription(name: "TEXT", summary: "yes, no, or six digits.")],
    examples: ["answer yes", "answer 123456"])

  static func run(
    _ arguments: Arguments, connection name: String, in session: CommandSession
  ) async throws {
    try await session.answer(arguments.word(0, "TEXT"))
  }
}

/// `reply` in a session.
enum ReplyCommand: SessionVerb {
  private static let error = Option.text(
    "error", "CODE", "Refuse with this ATT error: a number, or a name such as write-not-permitted.")

  static let description = CommandDescription(
    "reply", "Answer a question about a value of a server.",
    synopsis: ["QUESTION [HEX]", "QUESTION --error CODE"],
    arguments: [
      ArgumentDescription(name: "QUESTION", summary: "The number of the question."),
      ArgumentDescription(
        name: "HEX", summary: "The whole value, for a read. Without it, the value is empty."),
    ], options: [error], examples: ["reply 7 0648", "reply 8", "reply 9 --error 0x80"])

  static func run(
    _ arguments: Arguments, connection name: String, in session: CommandSession
  ) async throws {
    let word = try arguments.word(0, "QUESTION")
    guard let number = Int(word) else {
      throw UsageError("invalid question \"\(word)\": expected its number")
    }
    let hex = arguments.words.count > 1 ? arguments.words[1] : ""
    guard let code = arguments[error] else {
      let value = hex.isEmpty ? [] : try octets(argument: hex)
      guard value.count <= 512 else {
        throw UsageError("value too long: \(value.count) octets (the limit is 512)")
      }
      return try await session.reply(.success(value), to: number)
    }
    guard hex.isEmpty else { throw UsageError("give either a value or --error") }
    try await session.reply(.failure(ErrorCode(argument: code)), to: number)
  }
}

/// `control` in a session.
enum ControlCommand: SessionVerb {
  private static let server = Option.text(
    "server", "REQUEST", "The ID of the request that serves, if there are several.")

  static let description = CommandDescription(
    "control", "Change a server that runs in this session.",
    synopsis: [
      "set HANDLE HEX", "notify|indicate HANDLE HEX [to CLIENT]", "disconnect",
      "add PROFILE.json", "remove HANDLE",
    ],
    arguments: [
      ArgumentDescription(
        name: "LINE", summary: "A line of atto serve --control.", isRepeatable: true)
    ], options: [server], examples: ["control notify 0x0012 0648"])

  static func run(
    _ arguments: Arguments, connection name: String, in session: CommandSession
  ) async throws {
    let control = try await session.control(arguments[server])
    let results = Results(arguments)
    try await control(arguments.words.joined(separator: " ")) {
      results.print($0, json: $1)
    }
  }
}

extension CommandSession {
  /// - Throws: `UsageError` if no server runs, or several without a name.
  func control(_ name: String?) throws(UsageError) -> ControlLine {
    if let name {
      guard let found = controls.first(where: { "\($0.key)" == name }) else {
        throw UsageError("request \(name) is not a server that runs")
      }
      return found.value
    }
    guard let only = controls.values.first else { throw UsageError("no server runs") }
    guard controls.count == 1 else {
      throw UsageError("several servers run: name one with --server")
    }
    return only
  }
}
