import Atto

/// `atto pair`: pairs with a peer.
enum PairCommand: Command {
  static let name = "pair"
  static let examples = [
    "atto pair le:AA:BB:CC:DD:EE:FF@hci0 --io keyboard-display"
  ]
  static let summary = "Pairs with a peer."
  static let usage = "le:ADDRESS[/random][@hciN] | air:NAME [OPTIONS]"
  static let notes =
    "The bond is kept, see atto bonds. Without --io there is nothing to\n"
    + "compare (Just Works: medium); with it, what a person must see or type is asked here, and\n"
    + "the key is authenticated (high, or fips with Secure Connections). Answers are lines of\n"
    + "standard input; --passkey and --yes give them beforehand."
  static let options =
    PairingOptions.specs + [
      OptionSpec("timeout", "SECONDS", "give up after this time (60)"),
      .json,
    ] + StoreOptions.specs

  private struct Line: Encodable {
    var event: String
    var peer: String
    var key: String?
  }

  static func run(_ arguments: Arguments, on loop: Loop) async throws {
    let pairing = try PairingOptions(arguments)
    let timeout = try arguments.duration("timeout") ?? .seconds(60)
    let peer = try await RadioPeer(arguments, on: loop)
    let isJSON = arguments.has("json")
    var bonds = KeptBonds.none
    if case .kernel(let kernel, let peer) = peer {
      // Before anything is paired: a bond that cannot be kept is known to be none.
      bonds = try await KeptBonds.begin(
        try StoreOptions(arguments), .adapter(kernel.index), peer: peer, mayPair: true, on: loop)
      await kernel.observeKeys { key in
        let name = Self.name(key)
        Self.tell(Line(event: "key", peer: peer.description, key: name), "\(peer): \(name)", isJSON)
      }
    }
    try await peer.radio.setAgent(
      ConsoleAgent(options: pairing, loop: loop) { report in
        // How it ended is told below.
        guard report.isQuestion else { return }
        if isJSON { try? Terminal.print(json: report.line) } else { Terminal.note(report.text) }
      })
    let note = try ConnectingNote(Endpoint(arguments.words[0]), on: loop)
    defer { note.end() }
    let address: BluetoothAddress
    do throws(RadioError) {
      address = try await peer.pair(timeout: timeout)
    } catch {
      guard case .pairing(_, let failure) = error else { throw error }
      throw AttoError.pairing(peer: arguments.words[0], failure)
    }
    await bonds.end(on: loop)
    let place = bonds.store.map { "; the bond is kept in \($0.path)" } ?? ""
    tell(
      Line(event: "paired", peer: address.description), "paired with \(address)\(place)", isJSON)
    await peer.radio.close()
  }

  private static func name(_ key: BondKey) -> String {
    switch key {
    case .longTerm(let key): "long term key of \(key.keySize) octets"
    case .identity(let key): "identity resolving key of \(key.peer)"
    case .signature(let key): "signature key, \(key.kind % 2 == 0 ? "ours" : "theirs")"
    }
  }

  private static func tell(_ line: Line, _ text: String, _ isJSON: Bool) {
    // An encoder of strings does not fail.
    if isJSON { try? Terminal.print(json: line) } else { Terminal.print(text) }
  }
}
