import Atto
import Conformance

extension ConformCommand {
  /// `--client`: cases for those who connect.
  static func checkClients(_ arguments: Arguments, on loop: Loop) async throws {
    try arguments.allow(words: 0)
    for name in ["allow-writes", "profile", "security"] where arguments.has(name) {
      throw UsageError("--\(name) is for servers, not for --client")
    }
    var conformance = ClientConformance()
    conformance.isWanted = CaseOutput.selection(arguments)
    conformance.runsSlow = arguments.has("slow")
    guard !arguments.has("list") else {
      for test in conformance.cases { Terminal.print(test.name + "  " + test.title) }
      return
    }
    guard let place = arguments.value("listen") else {
      throw UsageError("--client wants --listen ENDPOINT: where the client will connect")
    }
    let patience = try arguments.duration("timeout") ?? .seconds(60)
    let peer = try await listeningPeer(place, arguments, patience, on: loop)
    let output = SharedOutput(try CaseOutput(arguments))
    do throws(PeerError) {
      try await conformance.run(with: peer, next: { Terminal.note("case: \($0)") }) {
        output.take($0)
      }
    } catch {
      throw AttoError.cancelled
    }
    try output.finish("atto conform --client")
  }
}
