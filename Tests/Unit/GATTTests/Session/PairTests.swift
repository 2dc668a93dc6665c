import TestSupport
import AttoATT
import AttoGATT
import AttoSimulation
import Testing

/// Two sessions in virtual time: the procedures of one against the server of the other.
@Suite(.sideBySide) struct PairTests {
  private static let database = Database(
    genericAttributeService,
    service(
      0x180D, at: 0x10,
      value(0x2A37, .stored([1, 2, 3]), .readWrite, [.read, .write, .notify, .indicate]),
      value(0x2A38, .stored([UInt8](repeating: 4, count: 100)))))

  @Test func aStoryFromEndToEnd() throws {
    let server = Server(Self.database)
    let pair = Pair(server: server)
    pair.latency = .milliseconds(7)
    let exchange = RecordedOperation(ExchangeMTU(clientReceiveMTU: 100))
    pair.left.session.startExchangeMTU(exchange, at: pair.now)
    pair.run()
    #expect(pair.left.session.bearer.mtu == 100)
    #expect(pair.right.session.bearer.mtu == 100)
    let services = try #require(pair.perform(DiscoverPrimaryServices())).get()
    #expect(services.map(\.uuid) == [.genericAttribute, 0x180D])
    let long = try #require(pair.perform(ReadLongValue(0x15))).get()
    #expect(long == [UInt8](repeating: 4, count: 100))
    _ = try #require(
      pair.perform(WriteLongValue(0x15, value: [UInt8](repeating: 5, count: 300)))
    ).get()
    #expect(server.database.value(of: 0x15) == [UInt8](repeating: 5, count: 300))
    _ = try #require(pair.perform(WriteValue(0x13, value: [3, 0]))).get()
    let isSent = pair.right.session.notify(0x12, ([9] as [UInt8]).span.bytes)
    #expect(isSent)
    let id = try pair.right.session.indicate(0x12, [8], at: pair.now)
    pair.run()
    #expect(pair.left.values.map(\.value).last == [8])
    #expect(pair.right.actions == [.confirmed(id)])
    #expect(pair.now > .zero + .milliseconds(100))
  }
  /// A peer that hears nothing: the request ends at 30 s of its time, not of ours.
  @Test func aDeafPeer() {
    let pair = Pair(server: Server(Self.database))
    pair.right.isDeaf = true
    let operation = RecordedOperation(ReadCharacteristicValue(0x12))
    pair.left.session.start(operation, at: pair.now)
    pair.wait(.milliseconds(29_900))
    #expect(operation.result == nil)
    pair.wait(.milliseconds(200))
    #expect(operation.result == .failure(.bearer(.transactionTimeout(.readRequest))))
    #expect(pair.left.actions == [.failed(.transactionTimeout(.readRequest))])
  }

  /// Responses that take 29.9 s arrive, and those that take 30.1 s do not.
  @Test(arguments: [14_950, 15_050]) func aSlowLink(milliseconds: Int) {
    let pair = Pair(server: Server(Self.database))
    pair.latency = .milliseconds(milliseconds)
    let result = pair.perform(ReadCharacteristicValue(0x12))
    #expect(
      result
        == (milliseconds < 15_000
          ? .success([1, 2, 3]) : .failure(.bearer(.transactionTimeout(.readRequest)))))
  }

  /// The database changes in the middle of discovery: what comes is consistent or an error,
  /// and the discovery ends.
  @Test func theDatabaseChangesDuringDiscovery() throws {
    for moment in 0..<24 {
      let server = Server(Self.database)
      let pair = Pair(server: server)
      let operation = RecordedOperation(DiscoverDatabase())
      pair.left.session.start(operation, at: .zero)
      for _ in 0..<moment { _ = pair.step() }
      try server.remove(service: 0x10)
      pair.right.session.pump(at: pair.now)
      #expect(pair.run(limit: 1000))
      #expect(operation.result != nil, "after \(moment) steps")
    }
  }

  /// Two centrals at once, each with its own answers.
  @Test func twoClients() {
    let server = Server(Self.database)
    let pairs = (0..<2).map { _ in Pair(server: server) }
    let reads = pairs.map { pair in
      let operation = RecordedOperation(ReadLongValue(0x15))
      pair.left.session.start(operation, at: .zero)
      return operation
    }
    while pairs.map({ $0.step() }).contains(true) {}
    #expect(reads.allSatisfy { $0.result == .success([UInt8](repeating: 4, count: 100)) })
    #expect(server.clients.count == 2)
  }
}
