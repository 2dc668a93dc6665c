import Atto
import AttoCommandLine
import AttoPeers

/// `link-info` in a session.
struct LinkInfoCommand: ConnectionCommand {
  static let description = CommandDescription(
    "link-info", "Print the parameters of the link, or change its interval first.",
    synopsis: ["ENDPOINT [--interval TIME[-TIME]]"], arguments: [.endpoint],
    details: """
      RSSI, PHY, interval, latency, supervision timeout and data length as the kernel reports them for an
      le: link, and the bearers. With --interval the controller asks for another interval, which the
      peer may refuse.
      """,
    options: [CommonOptions.interval],
    examples: ["atto link-info le:AA:BB:CC:DD:EE:FF", "atto link-info air:Strap --interval 15ms"])

  /// How long two controllers may take to agree: some intervals, of which the longest is 4 s.
  private static let patience = 30
  private static let pause: Duration = .milliseconds(100)

  private let interval: ConnectionInterval?

  init(_ arguments: Arguments, for endpoint: Endpoint) throws {
    interval = arguments[CommonOptions.interval]
  }

  func run(on peer: ConnectedPeer) async throws {
    guard let link = peer.link else {
      throw UsageError(
        "link-info requires an le: or air: connection, and an adapter that can be asked",
        hint: "this one is \(peer.endpoint)")
    }
    if let interval { try await change(to: interval, link, peer) }
    let facts = try await link.facts(of: peer.connection)
    let bearers = try await Bearers.json(of: peer.connection)
    let lines = [
      facts.text.map { "link: \($0)" }, "bearers: \(try await Bearers.text(of: peer.connection))",
    ]
    peer.results.print(
      lines.compactMap(\.self).joined(separator: "\n"),
      json: ["link": facts.json, "bearers": bearers])
  }

  /// Asks for another interval and waits until the controllers have agreed on one.
  ///
  /// - Throws: `UsageError` where nobody can be asked, `CheckFailure` if the interval stays.
  private func change(
    to interval: ConnectionInterval, _ link: LinkReport, _ peer: ConnectedPeer
  ) async throws {
    guard let (radio, address) = link.kernel else {
      throw UsageError(
        "--interval cannot change a link of the virtual air",
        hint: "connect with --interval, or to air:NAME?interval=15ms")
    }
    guard await radio.updateConnection(with: address, interval.parameters) else {
      throw UsageError(
        "the controller cannot be asked for another interval",
        hint: "this requires CAP_NET_RAW and a link that this session has opened")
    }
    for _ in 0..<Int(.seconds(Self.patience) / Self.pause) {
      let agreed = try await link.facts(of: peer.connection).parameters
      if let agreed, interval.range.contains(agreed.interval) { return }
      try await peer.loop.sleep(for: Self.pause)
      if let reason = await peer.connection.endReason { throw reason }
    }
    throw CheckFailure(
      message: "the interval has not changed within \(Self.patience) s",
      hint: "the peer may have refused it; link-info prints the one in use")
  }
}
