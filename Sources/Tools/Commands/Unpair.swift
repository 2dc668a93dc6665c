import Atto
import AttoCommandLine
import AttoPeers

/// `atto unpair`: the end of a bond.
package enum UnpairCommand: Command {
  package static let description = CommandDescription(
    "unpair", "Remove the bond with a peer, and end the link to it.",
    synopsis: ["le:ADDRESS[/random][@hciN] [OPTIONS]"],
    arguments: [ArgumentDescription(name: "PEER", summary: "The peer: le:ADDRESS.", kind: .peer)],
    details: "The keys are removed from the store and from the kernel.",
    options: [CommonOptions.json], groups: [StoreOptions.group], runsInSession: true,
    examples: ["atto unpair le:AA:BB:CC:DD:EE:FF@hci0"])

  package static func run(_ arguments: Arguments, on loop: Loop) async throws {
    let store = try await StoreOptions(arguments).openIfPossible(creates: false)
    let opened = try await RadioPeer(arguments, on: loop)
    guard let peer = opened.kernel?.peer else {
      throw UsageError(
        "radios on the virtual air have no bonds after their process ends: expected le:ADDRESS")
    }
    let radio = opened.radio
    let wasSaved = try await store?.removeBond(adapter: radio.address, peer: peer) ?? false
    do throws(RadioError) {
      try await radio.unpair(peer)
    } catch {
      // A saved bond that was not loaded into the kernel is removed already.
      guard wasSaved, case .management(_, .notPaired, _) = error else { throw error }
    }
    Results(arguments).print(
      "unpaired \(peer)", json: ["event": "unpaired", "peer": peer.description])
    await radio.close()
  }
}
