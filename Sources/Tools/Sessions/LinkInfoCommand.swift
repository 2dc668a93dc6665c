import Atto
import AttoCommandLine
import AttoPeers

/// `link-info` in a session.
struct LinkInfoCommand: ConnectionCommand {
  static let description = CommandDescription(
    "link-info", "Print the parameters of the link, or change them first.",
    synopsis: ["ENDPOINT [--interval TIME[-TIME]] [--latency N] [--supervision TIME]"],
    arguments: [.endpoint],
    details: """
      RSSI, PHY, interval, latency, supervision timeout and data length as the kernel reports them for an
      le: link, and the bearers. With --interval, --latency or --supervision the controller asks for other
      parameters, which the peer may refuse.
      """,
    options: ParameterRequest.options,
    examples: [
      "atto link-info le:AA:BB:CC:DD:EE:FF", "atto link-info le:AA:BB:CC:DD:EE:FF --interval 15ms",
    ])

  /// How long two controllers may take to agree: some intervals, of which the longest is 4 s.
  private static let patience = 30
  private static let pause: Duration = .milliseconds(100)

  private let request: ParameterRequest?

  init(_ arguments: Arguments, for endpoint: Endpoint) throws {
    request = try ParameterRequest(arguments)
  }

  func run(on peer: ConnectedPeer) async throws {
    guard let link = peer.link else {
      throw UsageError(
        "link-info requires an le: or air: connection, and an adapter that can be asked",
        hint: "this one is \(peer.endpoint)")
    }
    if let request { try await change(to: request, link, peer) }
    let facts = try await link.facts(of: peer.connection)
    let bearers = try await Bearers.json(of: peer.connection)
    let lines = [
      facts.text.map { "link: \($0)" }, "bearers: \(try await Bearers.text(of: peer.connection))",
    ]
    peer.results.print(
      lines.compactMap(\.self).joined(separator: "\n"),
      json: ["link": facts.json, "bearers": bearers])
  }

  /// Asks for other parameters and waits until the controllers have agreed on them.
  ///
  /// - Throws: `UsageError` where nobody can be asked, `CheckFailure` if the parameters stay.
  private func change(
    to request: ParameterRequest, _ link: LinkReport, _ peer: ConnectedPeer
  ) async throws {
    guard let (radio, address) = link.kernel else {
      throw UsageError(
        "a link of the virtual air cannot change",
        hint: "connect with --interval, or to air:NAME?interval=15ms")
    }
    guard await radio.updateConnection(with: address, request.parameters) else {
      throw UsageError(
        "the controller cannot be asked for other parameters",
        hint: "this requires CAP_NET_RAW and a link that this session has opened")
    }
    for _ in 0..<Int(.seconds(Self.patience) / Self.pause) {
      let agreed = try await link.facts(of: peer.connection).parameters
      if let agreed, request.isMet(by: agreed) { return }
      try await peer.loop.sleep(for: Self.pause)
      if let reason = await peer.connection.endReason { throw reason }
    }
    throw CheckFailure(
      message: "the parameters have not changed within \(Self.patience) s",
      hint: "the peer may have refused it; link-info prints the one in use")
  }
}
