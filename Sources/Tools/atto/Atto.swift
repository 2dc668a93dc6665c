import Atto
import AttoCommandLine
import AttoEventLoop
import AttoTestCommands
import CAttoLinux
import Glibc

@main enum AttoCommand {
  static func main() { exit(run()) }

  private static func run() -> Int32 {
    var words = CommandLine.words
    if ExtcapCommand.isMeant(by: words) { words.insert(ExtcapCommand.description.name, at: 0) }
    // Writing to a closed pipe fails with EPIPE instead of killing the process.
    signal(SIGPIPE, SIG_IGN)
    // Files of this command may hold keys, and values that are not for everybody.
    umask(0o077)
    clinux_share_one_arena()
    // What only prints, such as the completion of a word, starts faster without a thread.
    OutputQueue.usesThreads.store(false, ordering: .relaxed)
    #if DEBUG
      // Its reports are for those who write handlers.
      LoopWatchdog.isSilent.store(true, ordering: .relaxed)
    #endif
    return Terminal.finish(run(words), of: (["atto"] + words.prefix(1)).joined(separator: " "))
  }

  private static func run(_ words: [String]) -> Int32 {
    // Even a command line that cannot be parsed may ask for JSON.
    Terminal.setJSON(words.prefix { $0 != "--" }.contains("--json"))
    do {
      try Terminal.begin()
    } catch {
      Terminal.note("atto", failed: ExitStatus(error))
      return 2
    }
    guard let first = words.first else {
      for line in Terminal.lines(of: overview) { Terminal.note(line) }
      return 2
    }
    guard first != CompletionRequest.name else {
      let request = CompletionRequest(commands: AllCommands.descriptions)
      Terminal.write(Array(request.text(for: Array(words.dropFirst())).utf8))
      return 0
    }
    guard !["--version", "-V"].contains(first) else {
      Terminal.print("atto \(Version.number)")
      return 0
    }
    let asksForHelp = ["--help", "-h", "help"].contains(first)
    guard let name = asksForHelp ? words.dropFirst().first : first else {
      Terminal.print(help: overview)
      return 0
    }
    guard let command = AllCommands.types.first(where: { $0.description.name == name }) else {
      var status = ExitStatus(UsageError("unknown command \"\(name)\""))
      let names = AllCommands.descriptions.map(\.name)
      if name == "version" {
        status.hints.append("did you mean \"atto --version\"?")
      } else if let second = words.dropFirst().first, names.contains(second) {
        status.hints.append("the command comes first: atto \(second) \(name)")
      } else if let hint = Suggestion.hint(for: name, among: names) {
        status.hints.append(hint)
      }
      status.hints.append("atto --help lists the commands")
      Terminal.note("atto", failed: status)
      return status.code
    }
    if asksForHelp || words.contains("--help") || words.contains("-h") {
      Terminal.print(help: command.description.help)
      return 0
    }
    Terminal.setDelivery(command.description.delivery)
    return run(command, Array(words.dropFirst()))
  }

  private static func run(_ command: any (Command & SendableMetatype).Type, _ words: [String])
    -> Int32
  {
    do {
      let arguments = try Arguments(words, of: command.description)
      if let (message, hint) = CommandLine.missingProc {
        throw FileError(message: message, hint: hint)
      }
      OutputQueue.usesThreads.store(true, ordering: .relaxed)
      for note in arguments.notes { Terminal.note("atto \(command.description.name): \(note)") }
      Terminal.setJSON(arguments[CommonOptions.json])
      let signals = Interruption.prepare()
      let maxTime = try MaxTime(arguments, of: command.description)
      let loop = try Loop(name: "atto")
      let failure: (any Error)? = loop.runBlocking {
        let timer = maxTime.start(on: loop)
        var failure: (any Error)?
        do {
          try await Interruption.watch(signals, on: loop) {
            try await command.run(arguments, on: loop)
          }
        } catch {
          failure = error
        }
        timer?.cancel()
        _ = await timer?.result
        return failure
      }
      if let error = maxTime.end(failure) { throw error }
      return 0
    } catch {
      let status = ExitStatus(error)
      // The reason is standard output, and is reported at the end.
      if Terminal.outputFailure == nil || error is OutOfTime {
        Terminal.note(
          "atto \(command.description.name)", failed: status,
          usage: error is UsageError ? command.description.usage : nil)
      }
      return status.code
    }
  }

  private static var overview: String {
    func table(_ rows: [(String, String)], width: Int) -> String {
      rows.map { "  \($0.padded(to: width))  \($1)" }.joined(separator: "\n")
    }
    let commands = AllCommands.groups.map { group in
      let rows = group.types.map { ($0.description.name, $0.description.summary) }
      return "\(group.title):\n" + table(rows, width: 15)
    }
    let statuses = Glossary.statuses.enumerated().map { ("\($0)", $1) }
    return """
      usage: atto COMMAND [ENDPOINT] [OPTIONS]

      ATT and GATT on Linux.

      \(commands.joined(separator: "\n\n"))

      endpoints:
      \(table(Glossary.endpoints, width: 26))

      exit status:
      \(table(statuses, width: 1))

      Every command has --max-time SECONDS, which bounds it as a whole.
      atto COMMAND --help prints the options of a command, with examples.
      atto --version prints the version.
      """
  }
}
