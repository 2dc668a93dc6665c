import Atto
import AttoCommandLine
import AttoConformance
import AttoFormats
import AttoPeers

/// `atto play`: transcripts played against a live peer.
package enum PlayCommand: Command {
  private static let listen = Option.text(
    "listen", "ENDPOINT", "Play the server's part for clients that connect here.", kind: .place)
  private static let profile = Option.text(
    "profile", "NAME", "Play only the cases for this profile, such as bench.json.")
  private static let longest = Option.seconds(
    "longest", "Skip the cases with a single wait longer than this.")
  private static let timeout = Option.seconds(
    "timeout", "How long to wait for the connection and for each PDU (default: 30).")

  package static let description = CommandDescription(
    "play", "Play transcripts against a live peer and report differences.",
    synopsis: [
      "ENDPOINT TRANSCRIPT.att... [OPTIONS]", "--listen ENDPOINT TRANSCRIPT.att... [OPTIONS]",
    ],
    arguments: [
      .endpoint,
      ArgumentDescription(
        name: "TRANSCRIPT.att...", summary: "Files with one PDU per line.", isRepeatable: true,
        kind: .file),
    ],
    details: """
      Each case gets a connection of its own. Against a server, the cases with a profile are played: the
      server must serve this profile, and keeps the values that earlier cases have written. With
      --listen, the cases for clients are played: each one prints what the client has to do, and uses
      the next client that connects. At air: and le: the command advertises the name Atto. Cases that
      need changes on the peer's side (a changed database, a bond), or enhanced bearers that the peer
      does not open, are skipped. A link to a server at le: ends after each case, for all programs.

      Fixtures/transcripts has a transcript for each applicable case of the GATT test suite. atto decode
      --transcript makes a transcript from a capture.
      """,
    options: [listen] + CaseOutput.options() + [
      profile, longest, timeout, CommonOptions.security, CommonOptions.json, CommonOptions.quiet,
      CommonOptions.capture, CommonOptions.trace,
    ],
    timeLimit: .unlimited,
    examples: [
      "atto play unix:/tmp/peer Fixtures/transcripts/discovery.att",
      "atto play unix:/tmp/peer death.att",
    ])

  package static func run(_ arguments: Arguments, on loop: Loop) async throws {
    let place = arguments[listen]
    let paths = arguments.words.dropFirst(place == nil ? 1 : 0)
    guard !paths.isEmpty else { throw UsageError("missing argument TRANSCRIPT.att") }
    var play = TranscriptPlay(role: place == nil ? .server : .client)
    if let time = arguments[timeout] { play.patience = time }
    if let time = arguments[longest] { play.longestWait = time }
    play.security = LinkSecurity(arguments[CommonOptions.security].level)
    play.prompt = { Terminal.note("client: " + $0.joined(separator: " ")) }

    var cases = try await cases(paths, arguments, play, on: loop)
    guard !arguments[CaseOutput.list] else {
      let cases = cases.map { (name: $0.test.name, title: $0.test.title, writes: Bool?.none) }
      return CaseOutput.list(cases, Results(arguments))
    }
    let output = try CaseOutput(arguments)
    let peer: RawPeer
    if let place {
      let timeout = arguments[timeout] ?? .seconds(30)
      peer = try await RawPeer.listen(place, arguments, patience: timeout, on: loop)
    } else {
      try arguments.forbid(
        ParameterRequest.options + [CommonOptions.bearers], "cannot be used with play")
      let connecting = try Connecting(arguments)
      cases = try await ServedProfiles.playable(cases, at: connecting.endpoint, on: loop)
      peer = RawPeer(connecting.endpoint, connecting.options, patience: .seconds(2), on: loop)
    }
    let progress = ProgressLine(arguments)
    let keeping = progress.keep(on: loop)
    defer { keeping?.cancel() }
    for (index, test) in cases.map(\.test).enumerated() {
      progress.show(index, of: cases.count, test.name)
      if place != nil { Terminal.note("case: \(test.name)  \(test.title)") }
      let report: CaseReport
      do {
        report = try await peer.run { peer throws(PeerError) in
          try await play.play(test, with: peer)
        }
      } catch {
        try output.interrupted("atto play", cases: cases.map { ($0.test.name, $0.test.title) })
        throw error
      }
      output.show(report)
      await Terminal.room()
      if case .unreachable(let why) = report.outcome {
        Terminal.note("cannot reach the peer, skipping the other cases: \(why)")
        break
      }
    }
    try output.finish("atto play")
  }

  private static func cases(
    _ paths: ArraySlice<String>, _ arguments: Arguments, _ play: TranscriptPlay, on loop: Loop
  ) async throws -> [PlayedCase] {
    var cases: [PlayedCase] = []
    for path in paths {
      let text = try await InputFile(path: path, on: loop).rest()
      let transcript = try Transcript(text: text, file: path)
      guard !transcript.cases.isEmpty else {
        throw FileError(
          message: "no case in \(path)",
          hint: "a case starts with a line such as \"# NAME  title\"")
      }
      for test in transcript.cases where play.applies(test, in: transcript) {
        cases.append(PlayedCase(test, profile: transcript.profile(of: test), in: path))
      }
    }
    guard !cases.isEmpty else {
      let (found, other) =
        play.role == .server ? ("clients", "--listen plays them") : ("servers", "name an endpoint")
      throw UsageError("all of the cases are for \(found)", hint: other)
    }
    if let profile = arguments[profile] {
      let profiles = Set(cases.compactMap(\.profile))
      guard profiles.contains(profile) else {
        throw UsageError(
          "no case is for --profile \(profile)",
          hint: profiles.isEmpty ? nil : "the cases are for \(profiles.sorted().alternatives)")
      }
      cases.removeAll { $0.profile != profile }
    }
    let isSelected = try CaseOutput.selection(arguments, among: cases.map(\.test.name))
    return cases.filter { isSelected($0.test.name) }
  }
}
