import Atto
import AttoATT
import AttoCommandLine
import AttoRadio

// The GATT Client service: commands are answered at once, and events have the results.
extension BTPService {
  /// auto-pts, doc/btp_gatt_client.txt.
  static let gattClientCommands =
    [gattClient.readSupportedCommands]
    + BTPProcedure.Kind.allCases.map { kind in
      let note = kind == .readByUUID ? "values of the length of the first" : kind.exception
      return BTPServiceCommand(kind.clientOpcode, kind.name, except: note) {
        try $0.perform(kind, $1, &$2)
      }
    }
}

extension BTPTester {
  fileprivate func perform(
    _ kind: BTPProcedure.Kind, _ command: BTPFrame, _ parameters: inout BTPParameters
  ) throws(BTPStatus) -> [UInt8] {
    let procedure = try BTPProcedure(kind, &parameters)
    let (peer, store) = (try peer(procedure.peer), store)
    start {
      let outcome: BTPOutcome
      do {
        outcome = try await procedure.run(on: peer.connection, store: store)
        if kind == .exchangeMTU { await self.lookAtMTU(of: peer) }
      } catch {
        await self.note(command.name, error)
        // The protocol has no status for an end of the link.
        outcome = BTPOutcome(kind, refusal: .unlikelyError)
      }
      await self.room()
      await self.send(outcome, peer.address)
    }
    return []
  }

  private func send(_ outcome: BTPOutcome, _ peer: BluetoothAddress) {
    guard let (event, parameters) = outcome.forClient(peer) else { return }
    send(event, of: .gattClient, parameters)
  }
}
