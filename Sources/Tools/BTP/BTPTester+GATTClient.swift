import Atto
import AttoATT
import AttoCommandLine
import AttoRadio

// The GATT Client service: commands are answered at once, and events have the results.
extension BTPService {
  /// auto-pts, doc/btp_gatt_client.txt.
  static let gattClientCommands =
    [BTPCommandSupport(0x01, "Read Supported Commands")]
    + gattProcedures(from: 0x02, isOneService: false)
    + [BTPCommandSupport(0x14, "Read Multiple Variable Characteristic Values")]

  /// The commands that the GATT service and the GATT Client service have in the same order.
  static func gattProcedures(from first: UInt8, isOneService: Bool) -> [BTPCommandSupport] {
    let procedures: [(String, BTPCommandSupport.Support)] = [
      ("Exchange MTU", .full), ("Discover All Primary Services", .partly("the first 255")),
      ("Discover Primary Service by UUID", .full),
      ("Find Included Services", .partly("without the octet Type, as testers expect it")),
      ("Discover All Characteristics of a Service", .partly("the first 255")),
      ("Discover Characteristics by UUID", .full),
      ("Discover All Characteristic Descriptors", .partly("the first 255")),
      ("Read Characteristic Value/Descriptor", .full),
      (
        "Read Using Characteristic UUID",
        isOneService ? .full : .partly("values of the length of the first")
      ),
      ("Read Long Characteristic Value/Descriptor", .full),
      ("Read Multiple Characteristic Values", .full), ("Write Without Response", .full),
      (
        "Signed Write Without Response",
        .partly("with a saved bond on le:; a Write Command on an encrypted link")
      ),
      ("Write Characteristic Value/Descriptor", .full),
      ("Write Long Characteristic Value/Descriptor", .full), ("Reliable Write", .full),
      ("Configure Notifications", .full), ("Configure Indications", .full),
    ]
    return procedures.enumerated().map {
      BTPCommandSupport(first + UInt8($0), $1.0, $1.1)
    }
  }
}

extension BTPTester {
  func handleGATTClient(
    _ command: BTPFrame, _ parameters: inout BTPParameters
  ) throws(BTPStatus) -> [UInt8] {
    guard let procedure = try BTPProcedure(command.opcode, of: .gattClient, &parameters) else {
      throw .unknownCommand
    }
    let (peer, store) = (try peer(procedure.peer), store)
    start {
      let outcome: BTPOutcome
      do {
        outcome = try await procedure.run(on: peer.connection, store: store)
        if procedure.kind == .exchangeMTU { await self.lookAtMTU(of: peer) }
      } catch {
        await self.note(command.name, error)
        // The protocol has no status for an end of the link.
        outcome = BTPOutcome(procedure.kind, refusal: .unlikelyError)
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
