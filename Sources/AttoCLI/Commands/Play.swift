import Atto
import Conformance
import Files

/// `atto play`: transcripts against a live peer.
enum PlayCommand: Command {
  static let name = "play"
  static let examples = [
    "atto play unix:/tmp/peer Fixtures/transcripts/discovery.att --profile large-1.json",
    "atto play unix:/tmp/peer death.att",
  ]
  static let summary = "Plays transcripts against a live peer, and says where it differs."
  static let usage = "ENDPOINT TRANSCRIPT.att... [OPTIONS], or --listen ENDPOINT TRANSCRIPT.att..."
  static let options =
    [
      OptionSpec("listen", "ENDPOINT", "play the server's part for clients that come there")
    ] + CaseOutput.options + [
      OptionSpec("profile", "NAME", "only cases for this profile, such as bench.json"),
      OptionSpec("longest", "SECONDS", "leave out cases that wait for longer at a time"),
      .quiet,
      OptionSpec("list", nil, "only print the names of the cases"),
      OptionSpec("timeout", "SECONDS", "for connecting and for each PDU (30)"),
      OptionSpec("security", "LEVEL", "low, medium, high or fips"),
      .json, .capture, .trace,
    ]
  static let notes =
    "Each case gets a link of its own. Against a server the cases with a profile are played: the\n"
    + "server must serve that profile, and keeps what earlier cases have written. With --listen the\n"
    + "cases for clients are: each tells what the client has to do, and takes the next one that\n"
    + "connects. Cases that need the peer's hand (a database that changes, a bond) are left out."

  static func run(_ arguments: Arguments, on loop: Loop) async throws {
    let isForClients = arguments.has("listen")
    let paths = arguments.words.dropFirst(isForClients ? 0 : 1)
    guard !paths.isEmpty else { throw UsageError("a transcript is missing") }
    var play = TranscriptPlay(role: isForClients ? .client : .server)
    if let time = try arguments.duration("timeout") { play.patience = time }
    if let time = try arguments.duration("longest") { play.longestWait = time }
    play.security = LinkSecurity(try arguments.securityLevel())
    play.prompt = { Terminal.note("client: " + $0.joined(separator: " ")) }

    let cases = try cases(paths, arguments, play)
    guard !arguments.has("list") else {
      for test in cases { Terminal.print(test.name + "  " + test.title) }
      return
    }
    var output = try CaseOutput(arguments)
    let peer = try await peer(arguments, on: loop)
    let progress = ProgressLine(arguments)
    for (index, test) in cases.enumerated() {
      progress.show(index, of: cases.count, test.name)
      if isForClients { Terminal.note("case: \(test.name)  \(test.title)") }
      let report = try await report(play, test, peer)
      try output.take(report)
      if case .unreachable(let why) = report.outcome {
        try output.takeMissing(why)
        break
      }
    }
    try output.finish("atto play")
  }

  private static func report(
    _ play: TranscriptPlay, _ test: Transcript.Case, _ peer: RawPeer
  ) async throws -> CaseReport {
    do throws(PeerError) {
      return try await play.play(test, with: peer)
    } catch {
      throw AttoError.cancelled
    }
  }

  private static func cases(
    _ paths: ArraySlice<String>, _ arguments: Arguments, _ play: TranscriptPlay
  ) throws -> [Transcript.Case] {
    let isWanted = CaseOutput.selection(arguments)
    let profile = arguments.value("profile")
    var cases: [Transcript.Case] = []
    for path in paths {
      let transcript = try Transcript(contentsOfFile: path)
      guard !transcript.cases.isEmpty else {
        throw UsageError("\(path) holds no case: each begins with a line such as \"# NAME  title\"")
      }
      for test in transcript.cases where isWanted(test.name) && play.applies(test, in: transcript) {
        if let profile, transcript.profile(of: test) != profile { continue }
        cases.append(test)
      }
    }
    return cases
  }

  private static func peer(_ arguments: Arguments, on loop: Loop) async throws -> RawPeer {
    let patience = try arguments.duration("timeout") ?? .seconds(30)
    guard let place = arguments.value("listen") else {
      let connecting = try Connecting(arguments)
      return RawPeer(
        connecting.endpoint, connecting.options, patience: .seconds(2), on: loop)
    }
    return try await ConformCommand.listeningPeer(place, arguments, patience, on: loop)
  }
}
