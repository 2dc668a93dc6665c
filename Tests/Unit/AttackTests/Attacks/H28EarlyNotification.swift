import TestSupport
import AttoATT
import AttoGATT
import Testing

/// A notification before the response to the write that asked for it.
@Suite(.sideBySide) struct H28EarlyNotification {
  @Test("H28 client: the value is delivered, and the write ends with its response all the same")
  func h28Client() {
    for early in ["1b 0300 05", "1d 0300 05", "23 0300 0000 0300 0000"] {
      let client = TestSession()
      let write = client.start(WriteValue(4, value: [1, 0]))
      _ = client.sent
      #expect(client.send(early) == (early.hasPrefix("1d") ? ["1e"] : []))
      #expect(client.actions.count == 1 && write.result == nil)
      #expect(client.send("13") == [])
      #expect(write.result?.isSuccess == true)
    }
  }

  @Test("H28 server: the response stands first, and nobody is sent a value before it asked")
  func h28Server() {
    let defender = TestSession(service(value([7], .readWrite, [.read, .notify])))
    let (server, client) = (defender.server, defender.client)
    #expect(server.deliveries(of: 3, to: client) == [])
    _ = defender.session.receive(octets("12 0400 0100").span.bytes, at: .zero)
    #expect(server.deliveries(of: 3, to: client) == .notification)
    #expect(defender.notify(3, [5]))
    #expect(defender.sent == ["13", "1b 03 00 05"])
  }
}
