import TestSupport
import AttoATT
import AttoGATT
import AttoSimulation
import Testing

/// Two centrals that reconnect quickly, with requests and indications in flight.
@Suite(.sideBySide) struct H29RapidReconnecting {
  private static let database = Database([
    service(value([1, 2, 3], .readWrite, [.read, .write, .notify, .indicate])),
    ServiceDefinition(
      0x180D, handle: 0x10,
      characteristics: [value([UInt8](repeating: 4, count: 100))]),
  ])

  @Test("H29 server: nothing is left of either, and the next one is served")
  func h29Server() throws {
    let server = Server(Self.database)
    for round in 0..<200 {
      let (one, two) = (Pair(server: server), Pair(server: server))
      one.left.session.start(RecordedOperation(ReadLongValue(0x12)), at: .zero)
      two.left.session.start(
        RecordedOperation(WriteLongValue(0x12, value: [UInt8](0..<50))), at: .zero)
      _ = try one.right.session.indicate(3, [1], at: .zero)
      for _ in 0..<round % 7 {
        _ = one.step()
        _ = two.step()
      }
      for pair in round % 2 == 0 ? [one, two] : [two, one] {
        let client = try #require(pair.right.session.client)
        pair.disconnect()
        server.disconnect(client)
      }
      #expect(server.clients.isEmpty && server.preparedByteCount == 0)
    }
    #expect(Pair(server: server).perform(ReadCharacteristicValue(3)) == .success([1, 2, 3]))
  }

  @Test("H29 client: of two links that end at any moment, no procedure is told of the other's end")
  func h29Client() throws {
    let server = Server(Self.database)
    for round in 0..<200 {
      let pairs = [Pair(server: server), Pair(server: server)]
      let reads = pairs.map { pair in
        let operation = RecordedOperation(ReadLongValue(0x12))
        pair.left.session.start(operation, at: .zero)
        return operation
      }
      for _ in 0..<round % 9 { for pair in pairs { _ = pair.step() } }
      pairs[0].disconnect()
      server.disconnect(try #require(pairs[0].right.session.client))
      #expect(reads[0].result != nil)
      pairs[1].run()
      #expect(reads[1].result == .success([UInt8](repeating: 4, count: 100)))
      pairs[1].disconnect()
      server.disconnect(try #require(pairs[1].right.session.client))
    }
  }
}
