import Atto

/// `atto unpair`: forgets a peer's keys.
enum UnpairCommand: Command {
  static let name = "unpair"
  static let summary = "Forgets the keys of a peer, and ends a link with it."
  static let usage = "le:ADDRESS[/random][@hciN] [OPTIONS]"
  static let options = [OptionSpec.json]

  private struct Line: Encodable {
    var event: String
    var peer: String
  }

  static func run(_ arguments: Arguments, on loop: Loop) async throws {
    let (peer, radio) = try await PairCommand.open(arguments, on: loop)
    guard radio is KernelAdapter else {
      throw UsageError("radios of the air keep no keys beyond their process; le:ADDRESS is wanted")
    }
    try await radio.unpair(peer)
    if arguments.has("json") {
      try Terminal.print(json: Line(event: "unpaired", peer: peer.description))
    } else {
      Terminal.print("unpaired \(peer)")
    }
    await radio.close()
  }
}
