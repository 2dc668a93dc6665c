import TestSupport
import AttoATT
import AttoGATT
import AttoSimulation
import Testing

/// The client's side of a session: procedures in turn, their ends, and who is told. H4, H17;
/// rule 7.
@Suite(.sideBySide) struct SessionClientTests {
  typealias ReadOperation = RecordedOperation<ReadCharacteristicValue>

  /// A session with nobody at the other end.
  final class Bench {
    let session: Session
    var now = Instant.zero
    var actions: [SessionAction] = []

    init(_ configuration: BearerConfiguration = BearerConfiguration()) {
      session = Session(configuration)
    }

    @discardableResult func receive(_ pdu: String) -> SessionAction {
      let pdu = octets(pdu)
      return session.receive(pdu.span.bytes, at: now)
    }

    @discardableResult func read(_ handle: AttributeHandle) -> ReadOperation {
      let operation = ReadOperation(ReadCharacteristicValue(handle))
      session.start(operation, at: now)
      return operation
    }

    var sent: [String] {
      var pdus: [String] = []
      var pdu: [UInt8] = []
      while !session.bearer.outbox.isEmpty {
        session.bearer.outbox.removeFirst(into: &pdu)
        pdus.append(hexText(pdu))
      }
      return pdus
    }
  }

  @Test func oneRequestAtATime() {
    let bench = Bench()
    let first = bench.read(3)
    let second = bench.read(5)
    #expect(bench.sent == ["0a 03 00"])
    #expect(bench.session.operationCount == 2)
    bench.receive("0b 01")
    #expect(bench.sent == ["0a 05 00"])
    bench.receive("01 0a 05 00 02")
    #expect(first.result == .success([1]))
    #expect(
      second.result
        == .failure(
          .refused(
            ErrorResponse(request: .readRequest, handle: 5, code: .readNotPermitted))))
    #expect(bench.session.operationCount == 0)
  }

  /// Long procedures share the bearer request by request.
  @Test func proceduresTakeTurns() throws {
    let bench = Bench()
    let first = RecordedOperation(ReadLongValue(3))
    let second = RecordedOperation(ReadLongValue(5))
    bench.session.start(first, at: .zero)
    bench.session.start(second, at: .zero)
    let full = hexText([UInt8](repeating: 1, count: 22))
    #expect(bench.sent == ["0a 03 00"])
    bench.receive("0b " + full)
    #expect(bench.sent == ["0a 05 00"])
    bench.receive("0b " + full)
    #expect(bench.sent == ["0c 03 00 16 00"])
    bench.receive("0d 02")
    #expect(bench.sent == ["0c 05 00 16 00"])
    bench.receive("0d")
    #expect(try first.result?.get().count == 23)
    #expect(try second.result?.get().count == 22)
  }

  // MARK: Cancelling

  @Test func cancelWhileWaiting() {
    let bench = Bench()
    bench.read(3)
    let operation = ReadOperation(ReadCharacteristicValue(5))
    let id = bench.session.start(operation, at: .zero)
    bench.session.cancel(id, at: .zero)
    #expect(operation.result == .failure(.cancelled))
    bench.session.cancel(id, at: .zero)
    bench.receive("0b")
    #expect(bench.sent == ["0a 03 00"])
  }

  /// A late response answers nobody else's request: Bumble's does.
  @Test func cancelInFlight() {
    let bench = Bench()
    let operation = ReadOperation(ReadCharacteristicValue(3))
    let id = bench.session.start(operation, at: .zero)
    let next = bench.read(5)
    bench.session.cancel(id, at: .zero)
    #expect(operation.result == .failure(.cancelled))
    #expect(bench.sent == ["0a 03 00"])
    #expect(bench.receive("0b 03") == .none)
    #expect(next.result == nil)
    #expect(bench.sent == ["0a 05 00"])
    bench.receive("0b 05")
    #expect(next.result == .success([5]))
  }

  /// A procedure that has prepared writes clears the server's queue before it ends.
  @Test func cancelOfAPrepareChain() {
    let bench = Bench()
    let operation = RecordedOperation(WriteLongValue(3, value: [UInt8](0..<40)))
    let id = bench.session.start(operation, at: .zero)
    #expect(bench.sent.count == 1)
    bench.session.cancel(id, at: .zero)
    #expect(bench.session.operationCount == 1)
    bench.receive("17 03 00 00 00 " + hexText([UInt8](0..<18)))
    #expect(bench.sent == ["18 00"])
    bench.receive("19")
    guard case .failure(.cancelled) = operation.result else {
      Issue.record("\(String(describing: operation.result))")
      return
    }
    #expect(bench.session.operationCount == 0)
  }

  // MARK: Limits

  @Test func tooManyProcedures() {
    let bench = Bench(BearerConfiguration(maximumWaiting: 2))
    let operations = (1...4).map { bench.read(AttributeHandle($0)) }
    #expect(operations[2].result == nil)
    #expect(operations[3].result == .failure(.misuse(.tooManyProcedures(limit: 2))))
  }

  /// What was cancelled while it waited makes room at once.
  @Test func cancelledProceduresMakeRoom() {
    let bench = Bench(BearerConfiguration(maximumWaiting: 2))
    bench.read(1)
    for _ in 0..<3 {
      let operations = [ReadCharacteristicValue(3), ReadCharacteristicValue(5)].map { read in
        let operation = ReadOperation(read)
        return (bench.session.start(operation, at: .zero), operation)
      }
      for (id, operation) in operations {
        #expect(operation.result == nil)
        bench.session.cancel(id, at: .zero)
        #expect(operation.result == .failure(.cancelled))
      }
    }
    bench.read(7)
    #expect(bench.sent == ["0a 01 00"])
    bench.receive("0b")
    #expect(bench.sent == ["0a 07 00"])
  }

  /// A procedure that has begun goes on, though as many wait as the limit allows.
  @Test func aLongProcedureInAFullQueue() throws {
    let bench = Bench(BearerConfiguration(maximumWaiting: 2))
    let long = RecordedOperation(ReadLongValue(3))
    bench.session.start(long, at: .zero)
    bench.read(5)
    bench.read(7)
    bench.receive("0b " + hexText([UInt8](repeating: 1, count: 22)))
    #expect(long.result == nil)
    #expect(bench.read(9).result == .failure(.misuse(.tooManyProcedures(limit: 2))))
    for pdu in ["0b", "0b", "0d 02"] { bench.receive(pdu) }
    #expect(try long.result?.get().count == 23)
    #expect(bench.sent == ["0a 03 00", "0a 05 00", "0a 07 00", "0c 03 00 16 00"])
  }

  /// What cannot be written as a PDU is told, and the next one goes.
  @Test func aRequestThatCannotBeWritten() {
    let bench = Bench()
    let bad = RecordedOperation(WriteValue(3, value: [UInt8](repeating: 0, count: 513)))
    bench.session.start(bad, at: .zero)
    guard case .failure(.misuse) = bad.result else {
      Issue.record("\(String(describing: bad.result))")
      return
    }
    bench.read(3)
    #expect(bench.sent == ["0a 03 00"])
  }

  // MARK: The MTU

  @Test func oneExchange() {
    let bench = Bench()
    func exchange() -> RecordedOperation<ExchangeMTU> {
      let operation = RecordedOperation(ExchangeMTU(clientReceiveMTU: 517))
      bench.session.startExchangeMTU(operation, at: .zero)
      return operation
    }
    bench.read(3)
    func error(_ operation: RecordedOperation<ExchangeMTU>) -> ProcedureError? {
      guard case .failure(let error) = operation.result else { return nil }
      return error
    }
    // The first waits for its turn; the second would be a second exchange.
    let first = exchange()
    #expect(error(exchange()) == .misuse(.mtuAlreadyExchanged))
    bench.receive("0b")
    #expect(error(exchange()) == .misuse(.mtuAlreadyExchanged))
    bench.receive("03 0502")
    #expect(error(exchange()) == .misuse(.mtuAlreadyExchanged))
    #expect(bench.sent == ["0a 03 00", "02 05 02"])
    guard case .success = first.result else {
      Issue.record("\(String(describing: first.result))")
      return
    }
    let enhanced = Bench(BearerConfiguration(channel: .enhanced(mtu: 64)))
    let refused = RecordedOperation(ExchangeMTU(clientReceiveMTU: 517))
    #expect(enhanced.session.startExchangeMTU(refused, at: .zero) == nil)
    #expect(error(refused) == .misuse(.notOnThisBearer))
  }

  /// An exchange that was cancelled before its turn has not taken place.
  @Test func anExchangeCancelledBeforeItsTurn() throws {
    let bench = Bench()
    bench.read(3)
    let id = try #require(
      bench.session.startExchangeMTU(
        ProcedureOperation(ExchangeMTU(clientReceiveMTU: 517)), at: .zero))
    bench.session.cancel(id, at: .zero)
    bench.receive("0b")
    #expect(
      bench.session.startExchangeMTU(
        ProcedureOperation(ExchangeMTU(clientReceiveMTU: 517)), at: .zero) != nil)
    #expect(bench.sent == ["0a 03 00", "02 05 02"])
  }

  // MARK: Ends

  @Test func theLinkEnds() {
    let bench = Bench()
    let operations = [3, 5, 7].map { bench.read($0) }
    bench.session.linkEnded()
    #expect(operations.allSatisfy { $0.result == .failure(.bearer(.linkEnded)) })
    #expect(bench.read(9).result == .failure(.bearer(.linkEnded)))
    #expect(bench.sent == [])
    #expect(bench.session.deadline == nil)
  }

  @Test func aTimeout() {
    let bench = Bench()
    let operations = [3, 5].map { bench.read($0) }
    #expect(bench.session.advance(to: .zero + .milliseconds(29_900)) == .none)
    #expect(
      bench.session.advance(to: .zero + .seconds(30))
        == .failed(.transactionTimeout(.readRequest)))
    #expect(
      operations.allSatisfy { $0.result == .failure(.bearer(.transactionTimeout(.readRequest))) })
    // A response that comes at 30.1 s is nobody's.
    bench.now = .zero + .milliseconds(30_100)
    #expect(bench.receive("0b") == .none)
  }

  @Test func aResponseThatIsNone() {
    let bench = Bench()
    let operation = bench.read(3)
    let failure = BearerFailure.mismatchedResponse(request: .readRequest, response: .writeResponse)
    #expect(bench.receive("13") == .failed(failure))
    #expect(operation.result == .failure(.bearer(failure)))
  }

  // MARK: Calling back

  /// An operation that does something when it ends.
  final class Calling: ProcedureOperation<ReadCharacteristicValue> {
    var ends = 0
    let then: () -> Void
    init(_ handle: AttributeHandle, then: @escaping () -> Void) {
      self.then = then
      super.init(ReadCharacteristicValue(handle))
    }
    override func finish(_ result: Result<[UInt8], ProcedureError>) {
      ends += 1
      then()
    }
  }
  /// An operation that begins the next one from its end: a chain of a thousand.
  @Test func aChainOfReads() {
    let bench = Bench()
    var count = 0
    func next() {
      guard count < 1000 else { return }
      count += 1
      bench.session.start(Calling(3, then: next), at: .zero)
    }
    next()
    for _ in 0..<1000 { bench.receive("0b 01") }
    #expect(count == 1000)
    #expect(bench.sent.count == 1000)
    #expect(bench.session.operationCount == 0)
  }

  /// One object that is renewed at its end and begun again, here with the next handle.
  @Test func oneOperationAgainAndAgain() {
    final class Polling: ProcedureOperation<ReadCharacteristicValue> {
      let session: Session
      var results: [Result<[UInt8], ProcedureError>] = []
      init(_ session: Session) {
        self.session = session
        super.init(ReadCharacteristicValue(1))
      }
      override func finish(_ result: Result<[UInt8], ProcedureError>) {
        results.append(result)
        guard results.count < 4 else { return }
        renew(ReadCharacteristicValue(AttributeHandle(UInt16(results.count) + 1)))
        session.start(self, at: .zero)
      }
    }
    let bench = Bench()
    let polling = Polling(bench.session)
    bench.session.start(polling, at: .zero)
    bench.receive("0b 01")
    bench.receive("01 0a 02 00 02")
    bench.receive("0b 03 03")
    #expect(bench.sent == ["0a 01 00", "0a 02 00", "0a 03 00", "0a 04 00"])
    bench.session.linkEnded()
    let refusal = ErrorResponse(request: .readRequest, handle: 2, code: .readNotPermitted)
    #expect(
      polling.results == [
        .success([1]), .failure(.refused(refusal)), .success([3, 3]),
        .failure(.bearer(.linkEnded)),
      ])
    #expect(bench.session.operationCount == 0)
  }

  // MARK: Writes without a response

  @Test func writesWithoutResponse() throws {
    let bench = Bench()
    func write(_ count: Int) throws -> Bool {
      let value = [UInt8](repeating: 1, count: count)
      return try bench.session.writeWithoutResponse(3, value.span.bytes)
    }
    func sign() throws -> Bool {
      let key = [UInt8](repeating: 0, count: 16)
      return try bench.session.writeSigned(3, octets("01").span.bytes, counter: 1, key: key)
    }
    #expect(try write(20))
    #expect(bench.sent.count == 1)
    #expect(throws: ProcedureError.misuse(.valueTooLong(21, limit: 20))) { try write(21) }
    var sent = 0
    while try write(20) { sent += 1 }
    #expect(try !sign())
    #expect(bench.sent.count == sent)
    bench.session.linkEnded()
    #expect(throws: ProcedureError.bearer(.linkEnded)) { try write(20) }
    #expect(throws: ProcedureError.bearer(.linkEnded)) { try sign() }
  }

  /// A PDU of 517 octets could carry 514, but no value is longer than 512.
  @Test func theLongestWriteWithoutResponse() throws {
    let bench = Bench()
    bench.session.startExchangeMTU(
      RecordedOperation(ExchangeMTU(clientReceiveMTU: 517)), at: .zero)
    bench.receive("03 05 02")
    #expect(bench.session.bearer.mtu == 517)
    func write(_ count: Int) throws -> Bool {
      let value = [UInt8](repeating: 1, count: count)
      return try bench.session.writeWithoutResponse(3, value.span.bytes)
    }
    #expect(throws: ProcedureError.misuse(.valueTooLong(513, limit: 512))) { try write(513) }
    #expect(try write(512))
  }

  // MARK: Values
  @Test func valuesAreHandedOn() {
    let bench = Bench()
    #expect(bench.receive("1b 03 00") == .notification)
    #expect(bench.receive("23 03 00 00 00 04 00 00 00") == .notifications)
    #expect(bench.receive("1d 03 00 01") == .indication)
    #expect(bench.sent == [])
    bench.session.confirm()
    #expect(bench.sent == ["1e"])
    // Also with a handle that nothing has: it is the owner who drops it and confirms.
    #expect(bench.receive("1d 00 00") == .indication)
    #expect(bench.receive("1d 00") == .none)
    #expect(bench.sent == ["1e"])
  }
}
