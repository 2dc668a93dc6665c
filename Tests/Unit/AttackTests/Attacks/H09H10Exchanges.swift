import TestSupport
import AttoATT
import AttoGATT
import AttoSimulation
import Testing

/// A second exchange of ATT_MTU: with a smaller value, and immediately.
@Suite(.sideBySide) struct H09H10Exchanges {
  private var server: TestSession { TestSession(service(value([UInt8](repeating: 1, count: 300)))) }

  @Test("H9 server: a second exchange with less changes nothing, and gets the same answer")
  func h09Server() {
    let server = server
    #expect(server.send("02 f700") == ["03 05 02"])
    for pdu in ["02 1700", "02 0502", "02 0000", "02 6400"] {
      #expect(server.send(pdu) == ["03 05 02"])
      #expect(server.mtu == 247)
      #expect(octets(server.send("0a 0300")[0]).count == 247)
    }
  }

  @Test("H9 client: a second answer with less is nobody's, and no second exchange is begun")
  func h09Client() {
    let client = TestSession()
    let exchange = RecordedOperation(ExchangeMTU(clientReceiveMTU: 517))
    client.session.startExchangeMTU(exchange, at: .zero)
    #expect(client.sent == ["02 05 02"])
    client.send("03 f700")
    #expect(client.mtu == 247)
    for pdu in ["03 1700", "03 0000", "03 0502"] {
      #expect(client.send(pdu) == [])
      #expect(client.mtu == 247 && client.failure == nil)
    }
    let again = RecordedOperation(ExchangeMTU(clientReceiveMTU: 23))
    client.session.startExchangeMTU(again, at: .zero)
    #expect(again.result?.error == .misuse(.mtuAlreadyExchanged))
    #expect(client.sent == [])
  }

  @Test("H10 server: two requests back to back get two answers, and the first counts")
  func h10Server() {
    for later in ["02 1700", "02 6400", "02 0502", "02 0000"] {
      let server = server
      _ = server.session.receive(octets("02 6400").span.bytes, at: .zero)
      _ = server.session.receive(octets(later).span.bytes, at: .zero)
      #expect(server.sent == ["03 05 02", "03 05 02"])
      #expect(server.mtu == 100)
    }
  }

  @Test("H10 client: asked twice at once it sends one request, and of two answers takes the first")
  func h10Client() {
    let client = TestSession()
    let exchanges = (0..<2).map { _ in
      let exchange = RecordedOperation(ExchangeMTU(clientReceiveMTU: 517))
      client.session.startExchangeMTU(exchange, at: .zero)
      return exchange
    }
    #expect(client.sent == ["02 05 02"])
    #expect(exchanges[1].result?.error == .misuse(.mtuAlreadyExchanged))
    _ = client.session.receive(octets("03 6400").span.bytes, at: .zero)
    _ = client.session.receive(octets("03 1700").span.bytes, at: .zero)
    #expect(exchanges[0].result?.isSuccess == true)
    #expect(client.mtu == 100 && client.failure == nil)
  }
}
