import TestSupport
import Testing

@testable import Atto

/// A client that has subscribed and does not read.
@Suite(.oneByOne) struct StalledClientTests {
  @Test func othersGetTheirValuesWithoutIt() async throws {
    try await withDeadline {
      let server = LocalServer(Database())
      let layout = try await server.add(Bench.service)
      let value = layout.characteristics[2].valueHandle
      let configuration = try #require(layout.characteristics[2].configurationHandle)
      let stalled = try RawPeer()
      let one = try await stalled.connect(server: server)
      stalled.send([0x12, UInt8(configuration.rawValue), 0, 1, 0])
      await stalled.expect([0x13])
      // Until its link is full it gets all values.
      var filled = 0
      while try await server.notifyIfRoom(counted(filled), of: value) == Delivered(count: 1) {
        filled += 1
        #expect(filled < 100_000)
      }
      #expect(
        try await server.notifyIfRoom([1], of: value)
          == Delivered(count: 0, failures: 0, blocked: 1))
      // Another client is served normally.
      let folder = TemporaryFolder()
      let listener = try await server.listen(on: .unix(path: folder.socket()))
      let two = try await Connection.connect(to: .unix(path: folder.socket()))
      let values = try await two.subscribe(to: value, cccd: configuration)
      var iterator = values.makeAsyncIterator()
      for number in 0..<1000 {
        let delivered = try await server.notifyIfRoom(counted(number), of: value)
        #expect(delivered == Delivered(count: 1, failures: 0, blocked: 1))
        #expect(try await iterator.next()?.value == counted(number))
      }
      // It reads again, gets what was sent, in order, and is sent new values.
      for number in 0..<filled {
        let pdu = await stalled.receive()
        #expect(pdu == notification(value.rawValue, number))
        if pdu.isEmpty { break }
      }
      try await until { try await server.notifyIfRoom([7], of: value).blocked == 0 }
      withExtendedLifetime((one, listener)) {}
    }
  }
}
