import TestSupport
import AttoATT
import AttoGATT
import Testing

/// A device that is a client only still answers what must be answered. Rule 1.
@Suite(.sideBySide) struct SessionWithoutServerTests {
  private func answer(_ pdu: String, _ session: Session = Session()) -> [String] {
    let pdu = octets(pdu)
    _ = session.receive(pdu.span.bytes, at: .zero)
    var answers: [String] = []
    var answer: [UInt8] = []
    while !session.bearer.outbox.isEmpty {
      session.bearer.outbox.removeFirst(into: &answer)
      answers.append(hexText(answer))
    }
    return answers
  }

  @Test(arguments: [
    ("04 0100 ffff", "01 04 01 00 0a"), ("04 0000 ffff", "01 04 00 00 01"),
    ("04 0300 0200", "01 04 03 00 01"), ("0a 0300", "01 0a 03 00 01"),
    ("10 0100 ffff 0028", "01 10 01 00 0a"), ("08 0500 ffff 0328", "01 08 05 00 0a"),
    ("06 0100 ffff 0028 0018", "01 06 01 00 0a"), ("08 0500 0100 0328", "01 08 05 00 01"),
    ("12 0300 01", "01 12 00 00 06"), ("18 01", "01 18 00 00 06"),
    ("0a", "01 0a 00 00 04"), ("3f", "01 3f 00 00 06"), ("02 6400", "03 05 02"),
  ]) func answers(_ request: String, _ response: String) {
    #expect(answer(request) == [response])
  }

  @Test func commandsAreIgnored() {
    #expect(answer("52 0300 01") == [])
    #expect(answer("d2 0300 000000000000000000000000") == [])
  }

  /// A server that has as many clients as it may: the next is told that there is nothing.
  @Test func aClientTooMany() {
    let server = Server(
      Database(ServiceDefinition(0x1800)), limits: ServerLimits(clients: 1))
    let first = server.connect()
    #expect(first != nil)
    let second = server.connect()
    #expect(second == nil)
    let session = Session(server: server, client: second)
    #expect(answer("0a 0100", session) == ["01 0a 01 00 01"])
    if let first { server.disconnect(first) }
    #expect(server.connect() != nil)
    #expect(server.clients.count == 1)
  }
}
