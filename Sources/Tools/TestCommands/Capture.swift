import Atto
import AttoCommandLine
import AttoPeers

/// `atto capture`: the PDUs of other programs.
package enum CaptureCommand: Command {
  static let listen = Option.text(
    "listen", "ENDPOINT", "Relay: listen for clients here, and connect them to the peer.",
    kind: .place)
  static let change = Option.file(
    "change", "FILE", "Relay: change what is passed on by the rules of this file.")
  static let peer = Option.addresses("peer", "Monitor: show only links with this device.")
  static let once = Option.flag("once", "Relay: end after the first client.")
  static let timeout = Option.seconds(
    "timeout", "Relay: how long to wait for each connection to the peer (default: 30).")

  package static let description = CommandDescription(
    "capture", "Show and save the PDUs between other programs.",
    synopsis: ["--listen ENDPOINT ENDPOINT [OPTIONS]", "[hciN] [--peer ADDRESS] [OPTIONS]"],
    arguments: [
      ArgumentDescription(
        name: "ENDPOINT", summary: "The peer to relay to, or the adapter to monitor (hciN).",
        kind: .peer)
    ],
    details: """
      With --listen the command is a relay. For each client that connects it opens a connection to the
      peer, and passes PDUs unchanged in both directions. It sends nothing by itself. > is from the
      client, < from the peer, with the time at which the PDU arrived. When one side closes its
      connection, the command closes the other. A side that does not read slows the other down. A PDU
      that is longer than 65535 octets, or than the other link can carry, ends both connections. In a
      capture file > is sent, < is received, and clients at the same time have connection handles of
      their own.

      With --change the relay changes what it passes on. Each line of FILE is a rule: which PDUs (> from
      the client, < from the peer; ?? is any octet, ... any rest), a colon, and what is done with them:

        < 1b 1200 ... : every 10 drop    > 0a 0300 : error 05
        > 12 1500 01 : once delay 2s     > 0a 0500 : answer 0b 4142
        < 0b ... : after 3 repeat 2      < 1b 1200 ?? : replace 1b 1200 ff
        mtu 23

      The first rule that matches decides. Each change is shown after the PDU as it arrived, which is
      also what a capture file has.

      Without --listen the command monitors the kernel's Bluetooth until interrupted: the PDUs of all
      links on this machine (or of one adapter, or with one device), whichever program uses them. > is
      sent and < received by this machine. The device's address is shown if the monitor has seen the
      connection open, otherwise the connection handle. A capture file has all HCI traffic, including
      keys from pairing, as btmon writes it. This requires CAP_NET_RAW. When the kernel's buffer
      overflows, records are lost and the command reports it.
      """,
    options: [
      listen, ListeningGroup.option, change, peer, once, timeout, CommonOptions.security,
      CommonOptions.sendBuffer,
      CommonOptions.json, CommonOptions.capture,
    ], groups: [PairingOptions.group],
    timeLimit: .open, delivery: .live,
    examples: [
      "atto capture --listen unix:/tmp/between unix:/tmp/server --capture seen.pcapng",
      "atto capture --listen air:Between air:Strap --once --json",
      "atto capture --listen le:@hci0 le:AA:BB:CC:DD:EE:FF@hci1",
      "atto capture --listen air:Between air:Strap --change lossy.rules",
      "atto capture hci0 --peer AA:BB:CC:DD:EE:FF --capture seen.btsnoop",
    ])

  package static func run(_ arguments: Arguments, on loop: Loop) async throws {
    guard let place = arguments[listen] else {
      try arguments.forbid(
        [
          ListeningGroup.option, change, once, timeout, CommonOptions.security,
          CommonOptions.sendBuffer,
        ]
          + PairingOptions.group.options, "requires --listen")
      return try await MonitorCapture(arguments).run(on: loop)
    }
    try arguments.forbid([peer], "cannot be combined with --listen")
    try await RelayCapture(arguments, place: place).run(on: loop)
  }
}
