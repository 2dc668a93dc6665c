import Atto
import AttoATT
import AttoCommandLine
import AttoGATT
import AttoPeers
import Synchronization

// `raw` on the connection of a session, beside the requests of its other commands: a request takes its turn,
// and its response finds it. Everything that passes meanwhile is shown.

extension RawCommand: HeldConnectionCommand {
  package static func usesSession(_ arguments: Arguments) -> Bool {
    arguments.words.first.map { (try? Endpoint(argument: $0)) == nil } ?? false
  }

  package static func run(_ arguments: Arguments, on peer: ConnectedPeer) async throws {
    let ofConnections = Connecting.options.flatMap(\.options).filter {
      $0.description.name != CommonOptions.json.description.name
    }
    try arguments.forbid(ofConnections, "requires an ENDPOINT: this connection is open already")
    let pdus = try arguments.words.map { word throws(UsageError) in
      let pdu = try octets(argument: word)
      guard pdu.first != Opcode.exchangeMTURequest.rawValue else {
        throw UsageError(
          "this PDU would change the ATT_MTU, which the session keeps",
          hint: "mtu --exchange exchanges it; raw ENDPOINT opens a connection of its own")
      }
      return pdu
    }
    let connection = peer.connection
    let text = Mutex(RawText(peer.results))
    try await connection.watch { pdu in
      text.withLock { $0.show(pdu.octets, isSent: pdu.direction == .sent, mtu: pdu.mtu) }
    }
    let result: Result<Void, any Error>
    do {
      for pdu in pdus {
        if pdu.first.map({ Opcode($0).kind }) == .request {
          try await connection.perform(RawRequest(octets: pdu))
        } else {
          try await connection.sendUnchecked(pdu)
        }
        await Terminal.room()
      }
      try await peer.loop.sleep(for: arguments[time])
      result = .success(())
    } catch {
      result = .failure(error)
    }
    try? await connection.watch(nil)
    do {
      try result.get()
    } catch AttoError.cancelled {
      // Ctrl-C is a normal way to end the wait.
    } catch is CancellationError {}
  }
}

/// A request as it was given. Any response ends it.
private struct RawRequest: Procedure, Sendable {
  let octets: [UInt8]

  mutating func encodeRequest(into out: inout OutputRawSpan) throws(ProcedureError) {
    guard octets.count <= out.freeCapacity else {
      throw .misuse(.valueTooLong(octets.count, limit: out.freeCapacity))
    }
    out.append(octets.span.bytes)
  }

  mutating func receive(
    _ response: borrowing PDU, mtu: Int
  ) throws(ProcedureError) -> Step<Void> { .finished(()) }
}
