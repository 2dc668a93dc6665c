import Atto

/// `atto capture`: a dialogue of others, looked at from between them.
enum CaptureCommand: Command {
  static let name = "capture"
  static let examples = [
    "atto capture --listen unix:/tmp/between unix:/tmp/server --capture seen.pcapng",
    "atto capture --listen air:Between air:Strap --once --json",
    "atto capture --listen le:@hci0 le:AA:BB:CC:DD:EE:FF@hci1",
    "atto capture hci0 --peer AA:BB:CC:DD:EE:FF --capture seen.btsnoop",
  ]
  static let summary = "Shows PDUs between others: as a relay, or on all links of the kernel's."
  static let usage =
    "--listen ENDPOINT ENDPOINT [OPTIONS]\n       atto capture [hciN] [--peer ADDRESS] [OPTIONS]"
  static let options =
    [
      OptionSpec("listen", "ENDPOINT", "where clients come to; the peer is the other one"),
      OptionSpec("peer", "ADDRESS", "without --listen: show links with this device only"),
      OptionSpec("once", nil, "end after the first client"),
      OptionSpec("timeout", "SECONDS", "for opening each link to the peer (30)"),
      OptionSpec(
        "security", "LEVEL", "low, medium, high or fips: what links to the peer are raised to"),
      .sendBuffer,
      OptionSpec("json", nil, "one JSON object per PDU on standard output"),
      .capture,
    ] + PairingOptions.specs
  static let notes =
    "With --listen: for each client that comes a link to the peer is opened, and PDUs go from one to\n"
    + "the other octet for octet, whatever they hold; nothing is answered or asked on its own\n"
    + "account. > is what the client sent, < what the peer sent, with the time at which it came. The\n"
    + "end of either is the other's too. Who does not read holds back the other. A PDU of more than\n"
    + "65535 octets, or than the other link carries, ends both links, and is told of. A capture file\n"
    + "has > as sent, < as received, and a connection handle for each client.\n\n"
    + "Without: what the kernel's Bluetooth does on this machine, by whichever program, until Ctrl-C:\n"
    + "the PDUs of all links (or of one adapter, or with one device), > sent and < received by this\n"
    + "machine, with the device's address where the link was seen to begin, else its handle. A\n"
    + "capture file has everything that passes between the kernel and its controllers, keys of\n"
    + "pairings too, as btmon writes it. Wants CAP_NET_RAW; more than the kernel's buffer holds is\n"
    + "lost, and told of."

  static func run(_ arguments: Arguments, on loop: Loop) async throws {
    guard let place = arguments.value("listen") else {
      let ofRelay =
        ["once", "timeout", "security", "send-buffer"] + PairingOptions.specs.map(\.name)
      if let word = ofRelay.first(where: { arguments.has($0) }) {
        throw UsageError("--\(word) is for --listen ENDPOINT, where links are opened")
      }
      return try await MonitorCapture(arguments).run(on: loop)
    }
    if arguments.has("peer") {
      throw UsageError("--peer is for the kernel's links; with --listen the peer is an endpoint")
    }
    try await RelayCapture(arguments, place: place).run(on: loop)
  }
}
