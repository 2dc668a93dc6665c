import Atto
import AttoATT
import AttoCommandLine
import AttoFormats
import AttoText

/// The commands that only sessions of text have.
enum ScriptCommand: String, CaseIterable {
  case `let`, find, expect, wait, `repeat`, source, echo, help, quit

  static let within = Option.seconds(
    "within", default: 5, "How long to wait for the value or the end.")

  var description: CommandDescription {
    switch self {
    case .let:
      CommandDescription(
        rawValue, "Set a variable.", synopsis: ["NAME VALUE"],
        arguments: [
          ArgumentDescription(name: "NAME", summary: "Letters, digits and _."),
          ArgumentDescription(name: "VALUE", summary: "Its value. $NAME stands for it."),
        ], examples: ["let period 0.5"])
    case .find:
      CommandDescription(
        rawValue, "Set a variable to the handle of an attribute.", synopsis: ["NAME ATTRIBUTE"],
        arguments: [
          ArgumentDescription(name: "NAME", summary: "Letters, digits and _."),
          ArgumentDescription(
            name: "ATTRIBUTE",
            summary: "A UUID or an assigned name, such as 2A37, 2A19@180F or uuid:2902@2A37."),
        ], examples: ["find rate 2A37", "find battery \"battery level\""])
    case .expect:
      CommandDescription(
        rawValue, "Fail unless something happens.",
        synopsis: [
          "value HANDLE PATTERN... [--within SECONDS]", "read HANDLE PATTERN...",
          "error CODE COMMAND...", "silence SECONDS", "disconnect [--within SECONDS]",
        ],
        arguments: [
          ArgumentDescription(name: "WHAT", summary: "See above.", isRepeatable: true)
        ],
        details: """
          PATTERN is a value in hex; ?? is any octet, and ... at the end is any number of octets. value
          takes the values of subscriptions in their order. CODE is the number or the name of an ATT
          error.
          """,
        options: [Self.within],
        examples: [
          "expect value 0x0012 00 ??", "expect read 0x0003 41 74 ...",
          "expect error write-not-permitted write 0x0012 00",
        ])
    case .wait:
      CommandDescription(
        rawValue, "Wait.", synopsis: ["SECONDS"],
        arguments: [ArgumentDescription(name: "SECONDS", summary: "Seconds such as 0.5.")],
        examples: ["wait 0.5"])
    case .repeat:
      CommandDescription(
        rawValue, "Carry out a command again and again, until it fails or Ctrl-C.",
        synopsis: ["[N] [--every SECONDS] COMMAND..."],
        arguments: [
          ArgumentDescription(name: "N", summary: "How often (default: without end)."),
          ArgumentDescription(
            name: "COMMAND", summary: "A command with its options.", isRepeatable: true),
        ],
        details: """
          --every is the time from each beginning to the next; without it the command begins again as
          soon as it has ended.
          """,
        examples: ["repeat 10 read 0x0003", "repeat --every 0.5 read 2A19"])
    case .source:
      CommandDescription(
        rawValue, "Carry out the lines of a file.", synopsis: ["FILE"],
        arguments: [
          ArgumentDescription(name: "FILE", summary: "A script, of at most 4 MiB.")
        ], examples: ["source setup.session"])
    case .echo:
      CommandDescription(
        rawValue, "Print words.", synopsis: ["TEXT..."],
        arguments: [
          ArgumentDescription(name: "TEXT", summary: "The words.", isRepeatable: true)
        ], examples: ["echo the rate is at $rate"])
    case .help:
      CommandDescription(
        rawValue, "List the commands, or describe one.", synopsis: ["[COMMAND]"],
        arguments: [ArgumentDescription(name: "COMMAND", summary: "A command.")],
        examples: ["help read"])
    case .quit:
      CommandDescription(
        rawValue, "End the session.", synopsis: [""], examples: ["quit"])
    }
  }
}

extension TextSession {
  func run(_ command: ScriptCommand, _ words: [String]) async throws {
    // The words after it are a command with options of its own.
    if command == .expect, words.first == "error" {
      return try await expectError(Array(words.dropFirst()))
    }
    if command == .repeat { return try await repeatLine(words) }
    let arguments = try Arguments(words, of: command.description)
    switch command {
    case .repeat: break
    case .source: try await source(arguments.word(0, "FILE"))
    case .let: variables[try Self.name(arguments)] = try arguments.word(1, "VALUE")
    case .find:
      let name = try Self.name(arguments)
      variables[name] = try await handle(arguments.word(1, "ATTRIBUTE")).description
    case .expect: try await expect(arguments)
    case .wait: try await session.wait(for: Self.seconds(arguments.word(0, "SECONDS")))
    case .echo: Terminal.print(words.joined(separator: " "))
    case .help: try showHelp(arguments.words.first)
    case .quit: end()
    }
  }

  private static func name(_ arguments: Arguments) throws(UsageError) -> String {
    let name = try arguments.word(0, "NAME")
    guard !name.isEmpty, name.allSatisfy({ $0.isLetter || $0.isNumber || $0 == "_" }) else {
      throw UsageError("invalid name \"\(name)\": expected letters, digits and _")
    }
    return name
  }

  /// The handle of an attribute of the current connection's peer.
  private func handle(_ text: String) async throws -> AttributeHandle {
    let reference = try AttributeReference(argument: text)
    return try await session.currentConnection.peer(on: session.loop).find(reference).handle
  }

  static func seconds(_ text: String) throws(UsageError) -> Duration {
    guard let seconds = Double(text), seconds > 0, seconds <= 86_400 else {
      throw UsageError("invalid time \"\(text)\": expected seconds such as 0.5")
    }
    return .seconds(seconds)
  }

  private func showHelp(_ name: String?) throws(UsageError) {
    if let name {
      let description =
        if let own = ScriptCommand(rawValue: name) {
          own.description
        } else {
          try session.commands.named(name).description
        }
      return Terminal.print(
        ownText: description.help.replacing(each: "atto \(name) ", with: "\(name) "))
    }
    let descriptions =
      session.commands.all.map(\.description)
      + ScriptCommand.allCases.map(\.description)
    for description in descriptions {
      Terminal.print("  \(description.name.padded(to: 16))  \(description.summary)")
    }
  }

  // MARK: - Expectations

  private func expect(_ arguments: Arguments) async throws {
    let what = try arguments.word(0, "WHAT")
    let within = arguments[ScriptCommand.within]
    switch what {
    case "value":
      let pattern = try Self.pattern(arguments)
      let handle = try await handle(arguments.word(1, "HANDLE"))
      guard let value = try await session.value(of: handle, within: within) else {
        throw CheckFailure(message: "no value of \(handle) came within \(within)")
      }
      try Self.check(value.value, pattern, "the value of \(handle)")
    case "read":
      let pattern = try Self.pattern(arguments)
      let handle = try await handle(arguments.word(1, "HANDLE"))
      let value = try await session.currentConnection.connection.readOnce(handle)
      try Self.check(value, pattern, "\(handle)")
    case "silence":
      let time = try Self.seconds(arguments.word(1, "SECONDS"))
      if let value = try await session.value(of: nil, within: time) {
        throw CheckFailure(message: "\(value.handle) sent \(Shown.value(value.value))")
      }
    case "disconnect":
      guard let connection = try await session.expectEnd() else { return }
      let alarm = session.loop.after(within) { connection.close() }
      try await connection.waitUntilClosed()
      alarm.cancel()
      if await connection.endReason == .closed {
        throw CheckFailure(message: "the peer did not disconnect within \(within)")
      }
    default:
      throw UsageError(
        "cannot expect \"\(what)\": expected value, read, error, silence or disconnect")
    }
  }

  private static func pattern(
    _ arguments: Arguments
  ) throws(UsageError) -> Transcript.Pattern {
    var pattern = Transcript.Pattern([])
    for word in arguments.words.dropFirst(2) {
      guard !pattern.isOpen else { throw UsageError("nothing can follow ... in a pattern") }
      switch word {
      case "...": pattern.isOpen = true
      case "??": pattern.octets.append(nil)
      default: pattern.octets += try octets(argument: word)
      }
    }
    return pattern
  }

  private static func check(
    _ value: [UInt8], _ pattern: Transcript.Pattern, _ what: String
  ) throws(CheckFailure) {
    guard !pattern.matches(value) else { return }
    let expected =
      pattern.octets.map { $0.map { Shown.hex([$0]) } ?? "??" } + (pattern.isOpen ? ["..."] : [])
    throw CheckFailure(
      message: "\(what) is \(Shown.value(value)), expected \(expected.joined(separator: " "))")
  }

  private func expectError(_ words: [String]) async throws {
    guard let wanted = words.first, words.count > 1 else {
      throw UsageError("give the code or the name of an ATT error, and a command")
    }
    let code = try ErrorCode(argument: wanted)
    do {
      try await carryOut(Array(words.dropFirst()))
    } catch {
      guard let found = ExitStatus(error).refusal?.code else { throw error }
      guard found == code else {
        throw CheckFailure(message: "the peer answered \(found), expected \(code)")
      }
      return
    }
    throw CheckFailure(message: "the peer accepted it, expected \(code)")
  }
}

extension ErrorCode {
  /// Reads a number, or a name such as `write-not-permitted`.
  package init(argument text: String) throws(UsageError) {
    if let number = UInt8(argument: text) {
      self.init(number)
      return
    }
    let name = Self.plain(text)
    let found = (UInt8.min ... .max).first { ErrorCode($0).name.map(Self.plain) == name }
    guard let found else {
      throw UsageError(
        "unknown error \"\(text)\": expected a number such as 0x03, or a name such as"
          + " write-not-permitted")
    }
    self.init(found)
  }

  private static func plain(_ text: String) -> String {
    text.lowercased().replacing(each: " ", with: "-")
  }
}
