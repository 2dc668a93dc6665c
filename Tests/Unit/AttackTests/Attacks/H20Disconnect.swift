import TestSupport
import AttoATT
import AttoGATT
import AttoSimulation
import Testing

/// An invalid PDU, and the link ends immediately.
@Suite(.sideBySide) struct H20Disconnect {
  @Test("H20 server: an invalid request, and nothing is left of who sent it")
  func h20Server() {
    let server = Server(Database([service(value([]), asked())]))
    for pdu in [
      "0a", "3f", "06 0100", "16 0300 00", "", "12", "16 0300 0000 01", "0a 0500", "18 01", "ff",
    ] {
      let defender = TestSession(server)
      _ = defender.session.receive(octets(pdu).span.bytes, at: .zero)
      defender.session.linkEnded()
      server.disconnect(defender.client)
      #expect(defender.sent == [])
      #expect(defender.session.deadline == nil)
      #expect(server.clients.isEmpty && server.preparedByteCount == 0)
    }
  }

  @Test("H20 client: an invalid response, and each procedure is told once, whichever came first")
  func h20Client() {
    for pdu in [
      "0b" + hexText(1, times: 23), "09", "09 00", "05", "13", "01", "01 0a 0300", "", "1e", "ff",
    ] {
      let client = TestSession()
      let operations = [3, 5, 7].map { client.start(ReadCharacteristicValue($0)) }
      _ = client.sent
      _ = client.session.receive(octets(pdu).span.bytes, at: .zero)
      client.session.linkEnded()
      #expect(client.sent == [])
      for operation in operations {
        // Twice would trap.
        guard case .bearer? = operation.result?.error else {
          Issue.record("\(pdu): \(String(describing: operation.result))")
          continue
        }
      }
      #expect(client.session.operationCount == 0)
    }
  }
}
