import Atto
import AttoCommandLine
import AttoConformance
import AttoFormats
import AttoPeers

/// `atto conform`: conformance cases for servers and clients.
package enum ConformCommand: Command {
  private static let allowWrites = Option.flag(
    "allow-writes", "Run the cases that write values and descriptors too.")
  private static let profile = Option.file(
    "profile", "FILE", "The server's profile, to check its permissions.")
  private static let client = Option.flag("client", "Check clients that connect, not a server.")
  private static let listen = Option.text(
    "listen", "ENDPOINT", "With --client: where to listen: unix:PATH, air:NAME, le: or fd:N.",
    kind: .place)
  private static let slow = Option.flag(
    "slow", "With --client: run the cases that take more than half a minute too.")
  private static let timeout = Option.seconds(
    "timeout",
    "How long to wait for each response (default: 5), or with --client for a client (default: 60).")

  package static let description = CommandDescription(
    "conform", "Check another stack against the rules of the specification.",
    synopsis: ["ENDPOINT [OPTIONS]", "--client --listen ENDPOINT [OPTIONS]"],
    arguments: [.endpoint],
    details: """
      The command discovers the server, runs the cases that apply, each on a connection of its own, and
      prints the exchange for each broken rule. Nothing is written without --allow-writes. If a server
      closes the connection or does not respond, the command connects again; if it answers nothing on
      three new connections, it is unreachable. The cases bearers/* apply to servers that offer enhanced
      bearers (bit 0 of Server Supported Features). At le: the command ends the link after each case, for
      all programs, because the kernel would keep it for 2 s, and the peer what the case has left.

      With --client, each client that connects gets one case: a database, and a server that does what
      the specification allows but clients may not expect. The client has to connect once per case. At
      air: and le: the command advertises the name Atto.

      A note below a case says what the peer does that breaks no rule of the case, such as the use of a
      reserved value. The exit status is 4 if a rule is broken, or if nothing was checked: no selected case
      applies to the server, or the client did nothing that a case tests.
      """,
    options: [allowWrites, profile, client, listen]
      + CaseOutput.options(
        .words { ServerConformance().cases.map(\.name) + ClientConformance().cases.map(\.name) })
      + [
        slow, timeout, CommonOptions.security, CommonOptions.json, CommonOptions.quiet,
        CommonOptions.capture, CommonOptions.trace,
      ],
    timeLimit: TimeLimit(text: "3600; none with --client") {
      $0[client] ? nil : .seconds(3600) + $0.seconds
    },
    examples: [
      #"atto conform unix:/tmp/peer --case "read/*""#,
      "atto conform le:AA:BB:CC:DD:EE:FF --allow-writes --junit results.xml",
      "atto conform --client --listen air:Checker",
    ])

  package static func run(_ arguments: Arguments, on loop: Loop) async throws {
    if arguments[client] { return try await checkClients(arguments, on: loop) }
    try arguments.forbid([listen], "requires --client")
    var conformance = ServerConformance()
    if let time = arguments[timeout] { conformance.patience = time }
    conformance.allowsWrites = arguments[allowWrites]
    conformance.isWanted = try CaseOutput.selection(
      arguments, among: conformance.cases.map(\.name))
    if let path = arguments[profile] {
      conformance.profile = try await Profile.read(path, on: loop).layout()
    }
    guard !arguments[CaseOutput.list] else {
      let cases = conformance.cases.map {
        (name: $0.name, title: $0.title, writes: Bool?($0.writes))
      }
      return CaseOutput.list(cases, Results(arguments))
    }
    let output = try CaseOutput(arguments)
    try arguments.forbid(
      ParameterRequest.options + [CommonOptions.bearers], "cannot be used with conform")
    let connecting = try Connecting(arguments)
    if case .descriptor = connecting.endpoint {
      throw UsageError("fd: cannot be used with conform, because each case opens a connection")
    }
    var options = connecting.options
    options.connectTimeout = .seconds(10)
    let peer = RawPeer(connecting.endpoint, options, patience: .seconds(3), on: loop)
    let progress = ProgressLine(arguments)
    let keeping = progress.keep(on: loop)
    defer { keeping?.cancel() }
    conformance.willRun = { progress.show($0, of: $1, $2) }
    let suite = "atto conform"
    do {
      try await peer.run { peer throws(PeerError) in
        try await conformance.run(with: peer) { output.show($0) }
      }
    } catch {
      try output.interrupted(suite, cases: conformance.cases.map { ($0.name, $0.title) })
      throw error
    }
    let cases = conformance.cases.map(\.name)
    try output.finish(suite, preparation: cases.count > 1 ? cases.first : nil)
  }

  private static func checkClients(_ arguments: Arguments, on loop: Loop) async throws {
    try arguments.allow(words: 0)
    try arguments.forbid(
      [allowWrites, profile, CommonOptions.security], "cannot be combined with --client")
    var conformance = ClientConformance()
    conformance.isWanted = try CaseOutput.selection(
      arguments, among: conformance.cases.map(\.name))
    conformance.runsSlow = arguments[slow]
    guard !arguments[CaseOutput.list] else {
      let cases = conformance.cases.map { (name: $0.name, title: $0.title, writes: Bool?.none) }
      return CaseOutput.list(cases, Results(arguments))
    }
    guard let place = arguments[listen] else {
      throw UsageError("--client requires --listen ENDPOINT")
    }
    let timeout = arguments[timeout] ?? .seconds(60)
    let peer = try await RawPeer.listen(place, arguments, patience: timeout, on: loop)
    let output = try CaseOutput(arguments)
    let suite = "atto conform --client"
    do {
      try await peer.run { peer throws(PeerError) in
        try await conformance.run(with: peer, next: { Terminal.note("case: \($0)") }) {
          output.show($0)
        }
      }
    } catch {
      try output.interrupted(suite, cases: conformance.cases)
      throw error
    }
    try output.finish(suite)
  }
}
