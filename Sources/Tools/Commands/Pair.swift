import Atto
import AttoCommandLine
import AttoKernelRadio
import AttoPeers

/// `atto pair`: pairing, and the bond that results.
package enum PairCommand: Command {
  private static let timeout = Option.seconds("timeout", default: 60, "Give up after this time.")

  package static let description = CommandDescription(
    "pair", "Pair with a peer and save the bond.",
    synopsis: ["le:ADDRESS[/random][@hciN] | air:NAME [OPTIONS]"],
    arguments: [
      ArgumentDescription(name: "PEER", summary: "The peer: le:ADDRESS or air:NAME.", kind: .peer)
    ],
    details: """
      Without --io the peers pair with Just Works, and the link reaches security medium. With --io the
      command asks for what a person has to compare or enter, the key is authenticated, and the link
      reaches high, or fips with Secure Connections. Answers are lines of standard input; --passkey and
      --yes give them in advance. On the virtual air the bond ends with the command; on the kernel's
      radio it is saved.

      atto bonds lists the saved bonds. atto serve --io display is a peer to pair with.
      """,
    options: [timeout, CommonOptions.json], groups: [PairingOptions.group, StoreOptions.group],
    runsInSession: true,
    examples: ["atto pair le:AA:BB:CC:DD:EE:FF@hci0 --io keyboard-display"])

  package static func run(_ arguments: Arguments, on loop: Loop) async throws {
    let peer = try await RadioPeer(arguments, on: loop)
    let results = Results(arguments)
    var bonds = SavedBonds()
    var keyring: KernelKeyring?
    if let (source, peer) = peer.kernel {
      // Opened before pairing: a bond that cannot be saved is an error.
      bonds = try await SavedBonds.begin(
        try StoreOptions(arguments), source, peer: peer, mayPair: true, on: loop)
      keyring = try await KernelKeyring.open(source, loop: loop)
      await keyring?.observe { key, _ in
        let name = Self.name(key)
        results.print(
          "\(peer): \(name)", json: ["event": "key", "peer": peer.description, "key": name])
      }
    }
    let waiting = try WaitingNote(pairingWith: Endpoint(arguments.words[0]), on: loop)
    defer { waiting.end() }
    try await peer.radio.setAgent(
      ConsoleAgent(arguments, on: loop) { report in
        // The result is reported below.
        guard report.isQuestion else { return }
        waiting.end()
        if results.isJSON {
          results.print(json: report.json)
        } else {
          Terminal.note(report.text)
        }
      })
    let address: BluetoothAddress
    do throws(RadioError) {
      address = try await peer.pair(timeout: arguments[timeout])
    } catch {
      guard case .pairing(_, let failure) = error else { throw error }
      throw AttoError.pairing(peer: arguments.words[0], failure)
    }
    // The keys have been reported on another socket.
    await keyring?.catchUp()
    await bonds.end(on: loop)
    let place =
      if let store = bonds.store {
        "saved the bond in \(store.path)"
      } else if peer.kernel != nil {
        "the bond is not saved"
      } else {
        "the bond is not saved: on the virtual air it ends with this command"
      }
    results.print(
      "paired with \(address); \(place)",
      json: ["event": "paired", "peer": address.description, "saved": bonds.store != nil])
    await peer.radio.close()
  }

  private static func name(_ key: BondKey) -> String {
    switch key {
    case .longTerm(let key): "long term key of \(key.keySize) octets"
    case .identity(let key): "identity resolving key of \(key.peer)"
    case .signature(let key): "signature key, \(key.kind % 2 == 0 ? "ours" : "theirs")"
    }
  }
}
