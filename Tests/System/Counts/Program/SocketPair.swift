import Atto
import AttoATT
import AttoGATT
import AttoLinks

/// Both ends in one thread, on a pair of sockets and without a loop: a read in which neither end
/// has to wait.
enum SocketPair {
  static func reads(_ count: Int) throws {
    let (first, second) = try SocketLink.pair()
    let server = Server(try Counted.database(), application: Application())
    let client = Session()
    let served = Session(BearerConfiguration(), server: server, client: server.connect())
    let read = RepeatedRead()
    var room = Room()

    func pass(
      _ from: Session, _ out: borrowing SocketLink, _ into: borrowing SocketLink, _ to: Session
    )
      throws
    {
      guard
        try from.transmit({ (pdu) throws(LinkError) in try out.send(pdu) == .sent }),
        case .pdu = try room.fill({ try into.receive(into: &$0) })
      else { stop("a PDU did not pass") }
      room.show { _ = to.receive($0, at: .zero) }
    }

    for _ in 0..<count {
      client.start(read, at: .zero)
      try pass(client, first, second, served)
      try pass(served, second, first, client)
    }
    guard read.octets == count * 20 else { stop("\(read.octets) octets came") }
  }
}
