import Atto

/// `atto capture`: a dialogue of others, looked at from between them.
enum CaptureCommand: Command {
  static let name = "capture"
  static let examples = [
    "atto capture --listen unix:/tmp/between unix:/tmp/server --capture seen.pcapng",
    "atto capture --listen air:Between air:Strap --once --json",
    "atto capture --listen le:@hci0 le:AA:BB:CC:DD:EE:FF@hci1",
  ]
  static let summary = "Passes PDUs between clients and a peer, and shows them."
  static let usage = "--listen ENDPOINT ENDPOINT [OPTIONS]"
  static let options =
    [
      OptionSpec("listen", "ENDPOINT", "where clients come to; the peer is the other one"),
      OptionSpec("once", nil, "end after the first client"),
      OptionSpec("timeout", "SECONDS", "for opening each link to the peer (30)"),
      OptionSpec(
        "security", "LEVEL", "low, medium, high or fips: what links to the peer are raised to"),
      .sendBuffer,
      OptionSpec("json", nil, "one JSON object per PDU on standard output"),
      .capture,
    ] + PairingOptions.specs
  static let notes =
    "For each client that comes a link to the peer is opened, and PDUs go from one to the other\n"
    + "octet for octet, whatever they hold; nothing is answered or asked on its own account. > is\n"
    + "what the client sent, < what the peer sent, with the time at which it came. The end of either\n"
    + "is the other's too. Who does not read holds back the other. A PDU of more than 65535 octets,\n"
    + "or than the other link carries, ends both links, and is told of. A capture file has > as sent,\n"
    + "< as received, and a connection handle for each client."

  static func run(_ arguments: Arguments, on loop: Loop) async throws {
    guard let place = arguments.value("listen") else {
      throw UsageError("--listen ENDPOINT is wanted: where clients come to")
    }
    try await RelayCapture(arguments, place: place).run(on: loop)
  }
}
