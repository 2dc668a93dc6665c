import Atto
import Conformance
import Files

/// `atto conform`: does somebody's server, or client, keep the rules?
enum ConformCommand: Command {
  static let name = "conform"
  static let examples = [
    #"atto conform unix:/tmp/peer --case "read/*""#,
    "atto conform le:AA:BB:CC:DD:EE:FF --allow-writes --junit results.xml",
    "atto conform --client --listen unix:/tmp/here",
  ]
  static let summary = "Checks another stack against the specification's rules."
  static let usage = "ENDPOINT [OPTIONS], or --client --listen ENDPOINT [OPTIONS]"
  static let options =
    [
      OptionSpec("allow-writes", nil, "run the cases that write values and descriptors, too"),
      OptionSpec("profile", "FILE", "what the server serves, to judge its permissions by"),
      OptionSpec("client", nil, "check clients that connect, instead of a server"),
      OptionSpec("listen", "ENDPOINT", "where clients come to: unix:PATH, fd:N or le:"),
    ] + CaseOutput.options + [
      OptionSpec("slow", nil, "with --client: run what takes more than half a minute, too"),
      OptionSpec("list", nil, "only print the names of the cases"),
      OptionSpec(
        "timeout", "SECONDS", "for each response (5); with --client, for the next client (60)"),
      OptionSpec("security", "LEVEL", "low, medium, high or fips"),
      .json, .quiet, .capture, .trace,
    ]
  static let notes =
    "Finds out what the server has, runs the cases that fit, each on a link of its own, and shows\n"
    + "for each broken rule what went over the link. Nothing is written to a value or a descriptor\n"
    + "without --allow-writes. A server that ends or falls silent is connected to again. With\n"
    + "--client each client that connects gets one case: the database that the case serves, and\n"
    + "what a server should not do but may. Have the client connect again for the next.\n"
    + "Ends with 4 if a rule was broken."

  static func run(_ arguments: Arguments, on loop: Loop) async throws {
    guard !arguments.has("client") else { return try await checkClients(arguments, on: loop) }
    guard !arguments.has("listen") else {
      throw UsageError("--listen is for --client; a server is connected to")
    }
    var conformance = ServerConformance()
    if let time = try arguments.duration("timeout") { conformance.patience = time }
    conformance.allowsWrites = arguments.has("allow-writes")
    conformance.isWanted = CaseOutput.selection(arguments)
    if let path = arguments.value("profile") {
      conformance.profile = try Profile(contentsOfFile: path).layout()
    }
    guard !arguments.has("list") else {
      for test in conformance.cases {
        Terminal.print(test.name + "  " + test.title + (test.writes ? " (writes)" : ""))
      }
      return
    }
    let output = SharedOutput(try CaseOutput(arguments))
    let connecting = try Connecting(arguments)
    try arguments.allow(words: 1)
    if case .descriptor = connecting.endpoint {
      throw UsageError("each case connects anew, which fd: cannot; use unix:, air: or le:")
    }
    var options = connecting.options
    options.connectTimeout = .seconds(10)
    let peer = RawPeer(connecting.endpoint, options, patience: .seconds(3), on: loop)
    let progress = ProgressLine(arguments)
    conformance.willRun = { progress.show($0, of: $1, $2) }
    do throws(PeerError) {
      try await conformance.run(with: peer) { output.take($0) }
    } catch {
      throw AttoError.cancelled
    }
    try output.finish("atto conform")
  }

  /// Who takes the clients that come to a place.
  static func listeningPeer(
    _ place: String, _ arguments: Arguments, _ patience: Duration, on loop: Loop
  ) async throws -> RawPeer {
    let endpoint: Endpoint
    do throws(EndpointError) {
      endpoint = try Endpoint(place)
    } catch {
      throw UsageError(error.description)
    }
    switch endpoint {
    case .unix, .leAny, .descriptor: break
    case .le, .air:
      throw UsageError("clients can be waited for at unix:PATH, fd:N and le: only")
    }
    var options = ConnectionOptions()
    options.monitor = try Monitor.make(arguments)
    let listener = try await RawListener.listen(on: endpoint, options: options, loop: loop)
    Terminal.note("listening on \(listener.endpoint)")
    return RawPeer(listener, patience: patience, on: loop)
  }
}

/// Output that a closure writes to. A failure to write shows at the end.
final class SharedOutput {
  private var output: CaseOutput
  private var failure: (any Error)?

  init(_ output: CaseOutput) { self.output = output }

  func take(_ report: CaseReport) {
    do { try output.take(report) } catch { failure = failure ?? error }
  }

  func finish(_ suite: String) throws {
    if let failure { throw failure }
    try output.finish(suite)
  }
}
