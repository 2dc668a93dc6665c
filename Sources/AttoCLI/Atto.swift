import Atto
import Files
import Glibc

/// The command `atto`.
@main enum AttoCommand {
  static let commands: [any (Command & SendableMetatype).Type] = [
    DemoCommand.self, ServeCommand.self, DiscoverCommand.self, ServicesCommand.self,
    IncludesCommand.self, CharacteristicsCommand.self, DescriptorsCommand.self,
    ReadCommand.self, WriteCommand.self, SubscribeCommand.self, RawCommand.self,
    PlayCommand.self, ConformCommand.self,
    AdaptersCommand.self, ScanCommand.self, AdvertiseCommand.self, PairCommand.self,
    ChannelCommand.self,
    UnpairCommand.self, BondsCommand.self, DoctorCommand.self, LinkCommand.self,
    BenchCommand.self, FuzzCommand.self, CaptureCommand.self,
  ]

  static func main() {
    let words = Array(CommandLine.arguments.dropFirst())
    // A reader of our output that goes away is an error of the write, not our death.
    signal(SIGPIPE, SIG_IGN)
    Terminal.fillStandardStreams()
    guard let first = words.first else {
      Terminal.note(overview)
      exit(2)
    }
    let asksForHelp = ["--help", "-h", "help"].contains(first)
    guard let name = asksForHelp ? words.dropFirst().first : first else {
      Terminal.print(overview)
      exit(0)
    }
    guard let command = commands.first(where: { $0.name == name }) else {
      Terminal.note("atto: there is no command \"\(name)\"; see atto --help")
      exit(2)
    }
    if asksForHelp || words.contains("--help") || words.contains("-h") {
      Terminal.print(command.help)
      exit(0)
    }
    let status = run(command, Array(words.dropFirst()))
    guard let errno = Terminal.outputFailure else { exit(status) }
    // A reader that has seen enough is no failure of ours.
    if errno == EPIPE { exit(0) }
    if errno == EINTR { exit(status) }
    let why = String(cString: strerror(errno))
    Terminal.note("atto \(name): cannot write to standard output: \(why)")
    exit(3)
  }

  private static func run(_ command: any (Command & SendableMetatype).Type, _ words: [String])
    -> Int32
  {
    do {
      let arguments = try Arguments(words, options: command.options)
      let signals = Interruption.prepare()
      let loop = try Loop(name: "atto")
      try loop.runBlocking {
        try await Interruption.watch(signals, on: loop) {
          try await command.run(arguments, on: loop)
        }
      }
      return 0
    } catch {
      let status = ExitStatus(error)
      if Terminal.outputFailure != nil { return status.code }
      Terminal.note("atto \(command.name): \(status.message)")
      if status.code == 2, error is UsageError {
        Terminal.note("usage: atto \(command.name) \(command.usage)")
      }
      return status.code
    }
  }

  private static var overview: String {
    var text = "usage: atto COMMAND [ENDPOINT] [OPTIONS]\n\nATT and GATT on Linux.\n\ncommands:\n"
    for command in commands {
      let pad = String(repeating: " ", count: max(2, 18 - command.name.count))
      text += "  \(command.name)\(pad)\(command.summary)\n"
    }
    text += "\nENDPOINT is \(EndpointError.forms).\n"
    text +=
      "\nThe exit status: 0 done; 1 the peer answered with an ATT error; 2 the command line or a\n"
      + "file is wrong; 3 the link could not be opened, was lost, or timed out; 4 a check fell short.\n"
    text += "\natto COMMAND --help tells more, and has examples."
    return text
  }
}
