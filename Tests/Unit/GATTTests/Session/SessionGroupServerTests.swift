import AttoATT
import AttoGATT
import AttoSimulation
import TestSupport
import Testing

/// Requests and values on several bearers of one client.
@Suite(.sideBySide) struct SessionGroupServerTests {
  private let application = ScriptedApplication()
  private let server: Server

  init() {
    server = Server(
      Database(
        genericAttributeService,
        service(
          0x1800, at: 9, value(0x2A00, .stored([7]), .readWrite, [.read, .write, .notify]),
          value(0x2A01, .stored([8]), .readWrite, [.read, .notify, .indicate])),
        service(0x1801, at: 0x20, value(0x2A02, .application(ValueLimits()), .readWrite))),
      application: application)
  }

  private func change(_ handle: AttributeHandle = 0x100) {
    #expect(throws: Never.self) { try server.add(ServiceDefinition(0x1234, handle: handle)) }
  }

  /// Each bearer has its own request; an answer returns to the bearer of its request.
  @Test func answersReturnToTheirBearer() {
    application.reads[0x22] = .later
    let bench = GroupBench(server, mtus: [64, 64])
    #expect(bench.send(0, "0a 2200") == [])
    #expect(bench.send(2, "0a 2200") == [])
    #expect(bench.send(1, "0a 0b00") == ["0b 07"])
    let questions = application.questions.map(\.id)
    #expect(bench.group.answer(questions[1], .value([2]), at: bench.now)?.number == 2)
    #expect(bench.sent == ["2: 0b 02"])
    #expect(bench.group.answer(questions[0], .value([1]), at: bench.now)?.number == 0)
    #expect(bench.sent == ["0: 0b 01"])
    #expect(bench.group.answer(questions[0], .value([1]), at: bench.now) == nil)
  }

  /// An answer after the end of its bearer has no effect.
  @Test func anAnswerToADeadBearer() {
    application.reads[0x22] = .later
    let bench = GroupBench(server, mtus: [64])
    bench.send(1, "0a 2200")
    bench.group.remove(bench.session(1), at: bench.now)
    #expect(bench.group.answer(application.questions[0].id, .value([1]), at: bench.now) == nil)
    #expect(bench.sent == [])
  }

  /// Rule 14, H8: responses are built for ATT_MTU of their bearer.
  @Test func eachBearerHasItsMTU() throws {
    try server.setValue(of: 0x0B, to: [UInt8](repeating: 1, count: 100))
    let bench = GroupBench(server, mtus: [64, 90])
    #expect(bench.send(0, "0a 0b00")[0].split(separator: " ").count == 23)
    #expect(bench.send(1, "0a 0b00")[0].split(separator: " ").count == 64)
    #expect(bench.send(2, "0a 0b00")[0].split(separator: " ").count == 90)
    bench.session(2).bearer.setChannelMTU(64)
    #expect(bench.send(2, "0a 0b00")[0].split(separator: " ").count == 90)
    bench.session(2).bearer.setChannelMTU(200)
    #expect(bench.send(2, "0a 0b00")[0].split(separator: " ").count == 101)
    // A PDU longer than ATT_MTU of its bearer.
    #expect(bench.send(1, "12 0b00" + String(repeating: " 01", count: 62)) == ["01 12 00 00 04"])
  }

  /// Rule 25: one queue for all bearers; it survives the end of one.
  @Test func onePrepareQueue() throws {
    let bench = GroupBench(server, mtus: [64, 64])
    bench.send(1, "16 0b00 0000 01")
    bench.send(2, "16 0b00 0100 02")
    bench.group.remove(bench.session(1), at: bench.now)
    #expect(bench.send(0, "18 01") == ["19"])
    #expect(server.database.value(of: 0x0B) == [1, 2])
    bench.send(2, "16 0b00 0000 05")
    bench.group.remove(bench.session(2), at: bench.now)
    #expect(server.preparedByteCount == 1)
    server.disconnect(try #require(bench.group.main.client))
    #expect(server.preparedByteCount == 0)
  }

  @Test func signedWritesOnEnhancedBearersAreIgnored() throws {
    let bench = GroupBench(server, mtus: [64])
    let key: [UInt8] = (0..<16).map { $0 }
    try #require(bench.group.main.client).setSigningKey(key, counter: 0)
    let body = octets("d2 0b00 09")
    let pdu = body + Signature.compute(over: body.span.bytes, counter: 1, key: key)
    #expect(bench.send(1, hexText(pdu)) == [])
    #expect(server.database.value(of: 0x0B) == [7])
    bench.send(0, hexText(pdu))
    #expect(server.database.value(of: 0x0B) == [9])
  }

  // MARK: Values

  @Test func valuesOfOneAttributeStayOnOneBearer() {
    let bench = GroupBench(server, mtus: [64, 64])
    #expect((0..<4).map { _ in bench.notify(0x0B, [1]) } == [1, 1, 1, 1])
    #expect((0..<4).map { _ in bench.notify(0x0D, [1]) } == [2, 2, 2, 2])
    bench.add()
    #expect(bench.notify(0x0B, [1]) == 1)
    bench.group.remove(bench.session(1), at: bench.now)
    #expect(bench.notify(0x0B, [1]) == 3)
    #expect(bench.notify(0x0D, [1]) == 2)
  }

  /// Earlier values may still be under way there.
  @Test func valuesConfiguredBeforeStayOnTheUnenhancedBearer() {
    let bench = GroupBench(server)
    bench.send(0, "12 0c00 0100")
    bench.add()
    #expect(bench.group.session(forValuesOf: [0x0D, 0x0B]) == nil)
    #expect(bench.notify(0x0B, [1]) == 0)
    bench.send(1, "12 0f00 0100")
    #expect(bench.notify(0x0D, [1]) == 1)
  }

  @Test func oneIndicationOnEachBearer() throws {
    let bench = GroupBench(server, mtus: [64, 64])
    var ids: [TransactionID] = []
    for handle in [0x0B, 0x0D, 0x0B] as [AttributeHandle] {
      ids.append(
        try bench.group.session(forValuesOf: handle).indicate(handle, [1], at: bench.now))
    }
    #expect(Set(ids).count == 3)
    #expect(bench.sent == ["1: 1d 0b 00 01", "2: 1d 0d 00 01"])
    #expect(bench.send(2, "1e") == [])
    #expect(bench.send(1, "1e") == ["1d 0b 00 01"])
    #expect(ids.map { bench.group.session(ofIndication: $0).number } == [1, 2, 1])
  }

  @Test func severalValuesInOnePDU() {
    let bench = GroupBench(server, mtus: [64, 64])
    let values: [(handle: AttributeHandle, value: [UInt8])] = [(0x0B, [1]), (0x0D, [2])]
    bench.send(0, "12 0600 04")
    let session = bench.group.session(forValuesOf: values.map(\.handle))
    #expect(session?.notify(values) == true)
    #expect(bench.sent == ["1: 23 0b 00 01 00 01 0d 00 01 00 02"])
    #expect(bench.notify(0x0D, [1]) == 1)
    #expect(bench.notify(0x22, [1]) == 2)
    #expect(bench.group.session(forValuesOf: [0x0B, 0x22]) == nil)
  }

  // MARK: Robust caching. Vol 3, Part G, 2.5.2.1.

  private func cachingBench(_ mtus: [Int] = [64]) -> GroupBench {
    let bench = GroupBench(server, mtus: mtus)
    #expect(bench.send(0, "12 0600 01") == ["13"])
    change()
    return bench
  }

  /// On several bearers the error is sent once on each, and only reading the hash makes aware.
  @Test func outOfSyncOnceOnEachBearer() throws {
    let bench = cachingBench()
    let client = try #require(bench.group.main.client)
    bench.send(0, "12 0c00 0100")
    #expect(bench.send(0, "0a 0b00") == ["0b 07"])
    #expect(bench.send(1, "0a 0b00") == ["01 0a 0b 00 12"])
    #expect(bench.send(1, "0a 0b00") == ["0b 07"])
    // It is still unaware: commands are ignored.
    bench.send(1, "52 0b00 09")
    #expect(bench.send(1, "0a 0b00") == ["0b 07"])
    #expect(bench.send(1, "08 0100 ffff 2a2b")[0].hasPrefix("09"))
    #expect(bench.send(0, "0a 0b00") == ["0b 07"])
    bench.send(1, "52 0b00 09")
    #expect(bench.send(1, "0a 0b00") == ["0b 09"])
    #expect(server.deliveries(of: 0x0B, to: client) == [])
    // A further change starts again.
    change(0x200)
    #expect(bench.send(1, "0a 0b00") == ["01 0a 0b 00 12"])
    #expect(bench.send(0, "0a 0b00") == ["01 0a 0b 00 12"])
  }

  /// Confirming Service Changed does not make a client with several bearers aware.
  @Test func serviceChangedOnSeveralBearers() {
    let bench = GroupBench(server, mtus: [64])
    bench.send(1, "12 0600 01")
    bench.send(1, "12 0400 0200")
    change()
    bench.group.pump(at: bench.now)
    #expect(bench.sent == ["0: 1d 03 00 00 01 00 01"])
    #expect(bench.send(0, "1e") == [])
    #expect(bench.send(1, "0a 0b00") == ["01 0a 0b 00 12"])
    #expect(bench.send(1, "08 0100 ffff 2a2b")[0].hasPrefix("09"))
    #expect(bench.send(0, "0a 0b00") == ["0b 07"])
  }

  /// The bearer that has sent Service Changed ends: another one sends it.
  @Test func serviceChangedAfterTheEndOfABearer() throws {
    let bench = GroupBench(server, mtus: [64])
    bench.send(0, "12 0400 0200")
    _ = try bench.group.main.indicate(0x0B, [1], at: bench.now)
    _ = bench.sent
    change()
    bench.session(1).pump(at: bench.now)
    #expect(bench.sent == ["1: 1d 03 00 00 01 00 01"])
    bench.group.remove(bench.session(1), at: bench.now)
    #expect(bench.send(0, "1e") == ["1d 03 00 00 01 00 01"])
  }

  /// What one bearer has told does not count for another one that opens afterwards.
  @Test func aBearerThatOpensAfterTheError() {
    let bench = cachingBench([])
    #expect(bench.send(0, "0a 0b00") == ["01 0a 0b 00 12"])
    bench.add()
    #expect(bench.send(1, "0a 0b00") == ["01 0a 0b 00 12"])
    #expect(bench.send(0, "0a 0b00") == ["0b 07"])
    bench.send(0, "52 0b00 09")
    #expect(bench.send(0, "0a 0b00") == ["0b 07"])
  }

  /// A client without robust caching may not know the error, so Service Changed is still sent.
  @Test func theErrorDoesNotReplaceServiceChanged() throws {
    let bench = GroupBench(server)
    bench.send(0, "12 0400 0200")
    bench.send(0, "16 0b00 0000 01")
    _ = try bench.group.main.indicate(0x0D, [1], at: bench.now)
    _ = bench.sent
    change()
    #expect(bench.send(0, "18 01") == ["01 18 0b 00 12"])
    #expect(bench.send(0, "0a 0b00") == ["0b 07"])
    #expect(bench.send(0, "1e") == ["1d 03 00 00 01 00 01"])
  }

  /// With one bearer left, the rules of one bearer apply.
  @Test func theLastBearerMakesAware() {
    let bench = cachingBench()
    #expect(bench.send(0, "0a 0b00") == ["01 0a 0b 00 12"])
    #expect(bench.send(0, "0a 0b00") == ["0b 07"])
    bench.group.remove(bench.session(1), at: bench.now)
    bench.send(0, "52 0b00 09")
    #expect(bench.send(0, "0a 0b00") == ["0b 07"])
    bench.send(0, "52 0b00 09")
    #expect(bench.send(0, "0a 0b00") == ["0b 09"])
  }
}
