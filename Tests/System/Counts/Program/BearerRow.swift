import Atto
import AttoATT

/// Two bearers, a request and its response, and nothing above or below them.
enum BearerRow {
  static func reads(_ count: Int) {
    var client = Bearer()
    var server = Bearer()
    var room = Room()
    let value = [UInt8](repeating: 0x31, count: 20)
    var octets = 0
    for number in 0..<count {
      let id = TransactionID(rawValue: UInt64(number) + 1)
      guard client.enqueueRequest(id) == .waiting, client.nextRequest() == id else {
        stop("the request slot is taken")
      }
      client.transmit(request: id, at: .zero) { ReadRequest(Counted.value).encode(into: &$0) }
      move(from: &client, to: &room)
      guard take(room, by: &server) == .request else { stop("no request came") }
      room.fill { ReadResponse.encode(value.span.bytes, into: &$0) }
      room.show { server.respond($0) }
      move(from: &server, to: &room)
      guard take(room, by: &client) == .response(id) else { stop("no response came") }
      octets += room.show { $0.byteCount } - 1
    }
    guard octets == count * 20 else { stop("\(octets) octets came") }
  }

  private static func move(from bearer: inout Bearer, to room: inout Room) {
    bearer.outbox.withFirst { pdu in room.fill { $0.append(pdu) } }
    bearer.outbox.removeFirst()
  }

  private static func take(_ room: borrowing Room, by bearer: inout Bearer) -> BearerAction {
    room.show { octets in
      bearer.receive(PDU(octets, mtu: bearer.mtu), octets: octets, at: .zero)
    }
  }
}
