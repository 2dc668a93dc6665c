import Atto

/// `atto unpair`: forgets a peer's keys.
enum UnpairCommand: Command {
  static let name = "unpair"
  static let examples = [
    "atto unpair le:AA:BB:CC:DD:EE:FF@hci0"
  ]
  static let summary = "Forgets the keys of a peer, and ends a link with it."
  static let usage = "le:ADDRESS[/random][@hciN] [OPTIONS]"
  static let options = [OptionSpec.json] + StoreOptions.specs

  private struct Line: Encodable {
    var event: String
    var peer: String
  }

  static func run(_ arguments: Arguments, on loop: Loop) async throws {
    let store = try StoreOptions(arguments).openIfPossible(creates: false)
    guard case .kernel(let radio, let peer) = try await RadioPeer(arguments, on: loop) else {
      throw UsageError("radios of the air keep no keys beyond their process; le:ADDRESS is wanted")
    }
    let wasKept = try store?.removeBond(adapter: await radio.address, peer: peer) ?? false
    do throws(RadioError) {
      try await radio.unpair(peer)
    } catch {
      // One that was kept and not loaded is gone all the same.
      guard wasKept, case .management(_, .notPaired, _) = error else { throw error }
    }
    if arguments.has("json") {
      try Terminal.print(json: Line(event: "unpaired", peer: peer.description))
    } else {
      Terminal.print("unpaired \(peer)")
    }
    await radio.close()
  }
}
