import Atto
import AttoATT
import AttoFormats
import AttoGATT

/// Two sessions, one with a server, that hand each other what they want sent: no link, no loop.
final class SessionPair {
  private let client: Session
  private let server: Session
  private var room = Room()

  private init(_ database: Database, mtu: Int = 23) {
    let server = Server(database, application: Application())
    guard let client = server.connect() else { stop("the server takes no client") }
    self.client = Session(BearerConfiguration(receiveMTU: mtu))
    self.server = Session(BearerConfiguration(receiveMTU: mtu), server: server, client: client)
  }

  /// Reads of 20 octets.
  static func reads(_ count: Int) throws {
    let pair = SessionPair(try Counted.database())
    let read = RepeatedRead()
    for _ in 0..<count { pair.carryOut(read) }
    guard read.octets == count * 20 else { stop("\(read.octets) octets came") }
  }

  /// Discoveries of a database of 820 attributes, at the greatest ATT_MTU.
  static func discoveries(_ count: Int) throws {
    let profile = try Profile(contentsOfFile: "Fixtures/reference-820.json")
    let pair = SessionPair(try profile.database(), mtu: 517)
    pair.carryOut(Ended(ExchangeMTU(clientReceiveMTU: 517)))
    for _ in 0..<count {
      let discovery = Ended(DiscoverDatabase())
      pair.carryOut(discovery)
      guard let found = discovery.output, found.services.count > 10 else { stop("nothing found") }
    }
  }

  /// Moves PDUs until nobody wants anything sent.
  private func carryOut(_ operation: ClientOperation) {
    client.start(operation, at: .zero)
    while client.hasOutput || server.hasOutput {
      move(from: client, to: server)
      move(from: server, to: client)
    }
  }

  private func move(from: Session, to: Session) {
    // One at a time: the session must not be called from within.
    while from.hasOutput {
      var isTaken = false
      _ = from.transmit { pdu in
        guard !isTaken else { return false }
        room.fill { $0.append(pdu) }
        isTaken = true
        return true
      }
      room.show { _ = to.receive($0, at: .zero) }
    }
  }
}

/// A read that keeps nothing but the count of what it got, so that it may be started again.
final class RepeatedRead: ClientOperation {
  @exclusivity(unchecked) var octets = 0

  override func encodeRequest(into out: inout OutputRawSpan) throws(ProcedureError) {
    ReadRequest(Counted.value).encode(into: &out)
  }

  override func receive(_ response: borrowing PDU, mtu: Int) -> Bool {
    switch response {
    case .readResponse(let response): octets += response.value.byteCount
    default: stop("no value came")
    }
    return false
  }
}

/// A procedure whose output is kept.
final class Ended<P: Procedure>: ProcedureOperation<P> {
  private(set) var output: P.Output?

  override func finish(_ result: Result<P.Output, ProcedureError>) {
    guard case .success(let output) = result else { stop("it was refused: \(result)") }
    self.output = output
  }
}
