import TestSupport
import AttoATT
import Testing

/// The request slot: all PDUs with no request, a request or a cancelled request in flight. Vol 3,
/// Part F, 3.3.2 and 3.3.3.
@Suite(.sideBySide) struct ClientSideTests {
  enum State: CaseIterable { case idle, waiting, granted, inFlight, abandoned }

  private func bench(_ state: State) -> BearerBench {
    let bench = BearerBench()
    switch state {
    case .idle: break
    case .waiting: _ = bench.bearer.enqueueRequest(1)
    case .granted:
      _ = bench.bearer.enqueueRequest(1)
      #expect(bench.bearer.nextRequest() == 1)
    case .inFlight: bench.request(1, "0a 03 00")
    case .abandoned:
      bench.request(1, "0a 03 00")
      bench.bearer.cancel(request: 1)
    }
    _ = bench.sent
    return bench
  }

  struct Row: Sendable, CustomTestStringConvertible {
    let pdu: String
    /// Without a request in flight.
    let quiet: BearerAction
    /// With a Read Request in flight.
    let inFlight: BearerAction
    /// With a cancelled Read Request in flight.
    let abandoned: BearerAction
    var testDescription: String { pdu }

    init(
      _ pdu: String, quiet: BearerAction, inFlight: BearerAction, abandoned: BearerAction? = nil
    ) {
      self.pdu = pdu
      self.quiet = quiet
      self.inFlight = inFlight
      self.abandoned = abandoned ?? inFlight
    }
  }

  private static func unsolicited(_ opcode: Opcode) -> BearerAction {
    .ignored(.unsolicitedResponse(opcode))
  }

  private static func mismatch(_ opcode: Opcode) -> BearerAction {
    .failed(.mismatchedResponse(request: .readRequest, response: opcode))
  }

  static let rows: [Row] = [
    Row(
      "0b 01", quiet: unsolicited(.readResponse), inFlight: .response(1),
      abandoned: .ignored(.abandoned)),
    Row(
      "01 0a 03 00 02", quiet: unsolicited(.errorResponse), inFlight: .response(1),
      abandoned: .ignored(.abandoned)),
    // H27: code 0x00 is an error too.
    Row(
      "01 0a 03 00 00", quiet: unsolicited(.errorResponse), inFlight: .response(1),
      abandoned: .ignored(.abandoned)),
    Row(
      "01 0c 03 00 02", quiet: unsolicited(.errorResponse),
      inFlight: .failed(.mismatchedError(request: .readRequest, named: .readBlobRequest))),
    Row("0d 01", quiet: unsolicited(.readBlobResponse), inFlight: mismatch(.readBlobResponse)),
    Row("13", quiet: unsolicited(.writeResponse), inFlight: mismatch(.writeResponse)),
    Row("19", quiet: unsolicited(.executeWriteResponse), inFlight: mismatch(.executeWriteResponse)),
    Row(
      "17 03 00 00 00", quiet: unsolicited(.prepareWriteResponse),
      inFlight: mismatch(.prepareWriteResponse)),
    Row(
      "03 17 00", quiet: unsolicited(.exchangeMTUResponse),
      inFlight: mismatch(.exchangeMTUResponse)),
    Row("0f", quiet: unsolicited(.readMultipleResponse), inFlight: mismatch(.readMultipleResponse)),
    Row(
      "05 01 01 00 00 28", quiet: unsolicited(.findInformationResponse),
      inFlight: mismatch(.findInformationResponse)),
    Row(
      "07 01 00 01 00", quiet: unsolicited(.findByTypeValueResponse),
      inFlight: mismatch(.findByTypeValueResponse)),
    Row(
      "09 02 01 00", quiet: unsolicited(.readByTypeResponse),
      inFlight: mismatch(.readByTypeResponse)),
    Row(
      "11 04 01 00 01 00", quiet: unsolicited(.readByGroupTypeResponse),
      inFlight: mismatch(.readByGroupTypeResponse)),
    Row(
      "21 00 00 00 00", quiet: unsolicited(.readMultipleVariableResponse),
      inFlight: mismatch(.readMultipleVariableResponse)),
    Row(
      "1e", quiet: .ignored(.unsolicitedConfirmation),
      inFlight: .ignored(.unsolicitedConfirmation)),
    Row("1b 03 00 01", quiet: .notification, inFlight: .notification),
    Row("1d 03 00 01", quiet: .indication, inFlight: .indication),
    Row("23 03 00 00 00 04 00 00 00", quiet: .notification, inFlight: .notification),
    Row("0a 03 00", quiet: .request, inFlight: .request),
    Row("52 03 00", quiet: .command, inFlight: .command),
    Row("02 17 00", quiet: .answered, inFlight: .answered),
    Row("0a", quiet: .answered, inFlight: .answered),
    Row("3f", quiet: .answered, inFlight: .answered),
    Row(
      "7f", quiet: .ignored(.unknownCommand(Opcode(0x7F))),
      inFlight: .ignored(.unknownCommand(Opcode(0x7F)))),
    Row("", quiet: .ignored(.empty), inFlight: .ignored(.empty)),
  ]

  @Test(arguments: rows) func whateverArrives(_ row: Row) {
    for state in State.allCases {
      let bench = bench(state)
      let action = bench.receive(row.pdu)
      let expected =
        switch state {
        case .idle, .waiting, .granted: row.quiet
        case .inFlight: row.inFlight
        case .abandoned: row.abandoned
        }
      #expect(action == expected, "\(state)")
      if case .failed(let failure) = expected {
        #expect(bench.failure == failure)
        #expect(bench.sent.isEmpty)
      } else {
        #expect(bench.failure == nil)
      }
    }
  }

  @Test(arguments: [
    "01", "01 0a 03 00", "01 0a 03 00 01 00", "13 00", "09 00 00 00", "09 01 00 00",
    "09 03 00 00 00 00",
    "05 03 01 00 00 28", "11 03 00 00 00 00",
  ]) func malformedResponses(_ pdu: String) {
    #expect(
      bench(.idle).receive(pdu) == .ignored(.unsolicitedResponse(Opcode(octets(pdu)[0]))))
    for state in [State.inFlight, .abandoned] {
      let bench = bench(state)
      guard case .failed(.malformedResponse(let malformed)) = bench.receive(pdu) else {
        Issue.record("lives")
        continue
      }
      #expect(malformed.opcode == Opcode(octets(pdu)[0]))
    }
  }

  /// H27: an Error Response with the code 0x00 ends its request like any other.
  @Test func h27ErrorResponseWithCodeZero() {
    let bench = bench(.inFlight)
    #expect(bench.receive("01 0a 03 00 00") == .response(1))
    #expect(bench.request(2, "0a 05 00"))
  }

  /// A response longer than ATT_MTU fails the bearer and is not cut.
  @Test func aResponseLongerThanTheMTU() {
    let bench = bench(.inFlight)
    let long = [UInt8](repeating: 0x0B, count: 24)
    guard case .failed(.malformedResponse(let malformed)) = bench.receive(long) else {
      Issue.record("lives")
      return
    }
    #expect(malformed.fault == .longerThanMTU(24, mtu: 23))
  }

  // MARK: Time

  @Test func aResponseAt29Point9Seconds() {
    let bench = bench(.inFlight)
    bench.now = .zero + .milliseconds(29_900)
    #expect(bench.bearer.advance(to: bench.now) == nil)
    #expect(bench.receive("0b") == .response(1))
    #expect(bench.deadline == nil)
  }

  /// The same if the response is received before `advance` is called.
  @Test func aResponseAt30Point1Seconds() {
    let bench = bench(.inFlight)
    bench.now = .zero + .milliseconds(30_100)
    #expect(bench.receive("0b") == .failed(.transactionTimeout(.readRequest)))
    #expect(bench.receive("0b") == .ignored(.dead))
  }

  @Test func theDeadlineIs30SecondsAfterTheRequest() {
    let bench = BearerBench()
    bench.now = .zero + .seconds(5)
    bench.request(1, "0a 03 00")
    #expect(bench.deadline == .zero + .seconds(35))
    #expect(bench.bearer.advance(to: .zero + .nanoseconds(34_999_999_999)) == nil)
    #expect(
      bench.bearer.advance(to: .zero + .seconds(35))
        == .failed(.transactionTimeout(.readRequest)))
    #expect(bench.bearer.advance(to: .zero + .seconds(99)) == nil)
  }

  @Test func whatIsAwaitedAndUntilWhen() {
    let bench = BearerBench()
    let atFirst = bench.bearer.awaitedRequest
    bench.now = .zero + .seconds(5)
    bench.indicate(1, "1d 03 00")
    let besideAnIndication = bench.bearer.awaitedRequest
    bench.request(2, "0a 03 00")
    let awaited = bench.bearer.awaitedRequest
    bench.receive("0b")
    let atLast = bench.bearer.awaitedRequest
    #expect(atFirst == nil && besideAnIndication == nil && atLast == nil)
    #expect(awaited?.opcode == .readRequest)
    #expect(awaited?.deadline == .zero + .seconds(35))
  }

  /// A cancelled request still times out.
  @Test func anAbandonedRequestTimesOut() {
    let bench = bench(.abandoned)
    #expect(
      bench.bearer.advance(to: .zero + .seconds(30)) == .failed(.transactionTimeout(.readRequest)))
  }

  @Test func theEarlierOfTwoDeadlines() {
    let bench = BearerBench()
    bench.indicate(1, "1d 03 00")
    bench.now = .zero + .seconds(10)
    bench.request(2, "0a 03 00")
    #expect(bench.deadline == .zero + .seconds(30))
    bench.receive("1e")
    #expect(bench.deadline == .zero + .seconds(40))
  }

  // MARK: Cancelling

  @Test func cancelWhileWaiting() {
    let bench = BearerBench()
    bench.request(1, "0a 01 00")
    for id: UInt64 in 2...4 { #expect(!bench.request(id, "")) }
    bench.bearer.cancel(request: 3)
    bench.receive("0b")
    #expect(bench.bearer.nextRequest() == 2)
    bench.bearer.release(request: 2)
    #expect(bench.bearer.nextRequest() == 4)
  }

  @Test func cancelWhileGranted() {
    let bench = bench(.granted)
    _ = bench.bearer.enqueueRequest(2)
    #expect(bench.bearer.nextRequest() == nil)
    bench.bearer.cancel(request: 1)
    #expect(bench.bearer.nextRequest() == 2)
  }

  /// The slot stays in use until the response arrives, which is ignored.
  @Test func cancelInFlight() {
    let bench = bench(.abandoned)
    _ = bench.bearer.enqueueRequest(2)
    #expect(bench.bearer.nextRequest() == nil)
    #expect(bench.receive("0b 01") == .ignored(.abandoned))
    #expect(bench.bearer.nextRequest() == 2)
  }

  @Test func cancelOfWhatIsNotThere() {
    let bench = bench(.inFlight)
    bench.bearer.cancel(request: 9)
    #expect(bench.receive("0b") == .response(1))
    bench.bearer.cancel(request: 1)
    #expect(bench.request(2, "0a 01 00"))
  }

  // MARK: Order and limits

  @Test func requestsGoInOrder() {
    let bench = BearerBench()
    for id: UInt64 in 0..<200 { _ = bench.bearer.enqueueRequest(TransactionID(rawValue: id)) }
    for id: UInt64 in 0..<200 {
      #expect(bench.bearer.nextRequest() == TransactionID(rawValue: id))
      bench.bearer.release(request: TransactionID(rawValue: id))
    }
    #expect(bench.bearer.nextRequest() == nil)
  }

  /// Enqueueing, cancelling and finishing keep the order of the others.
  @Test(arguments: [1, 2, 3, 4] as [UInt64]) func orderUnderCancelling(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    let bench = BearerBench(BearerConfiguration(maximumWaiting: 40))
    var waiting: [UInt64] = []
    var next: UInt64 = 0
    for _ in 0..<5000 {
      switch Int.random(in: 0..<4, using: &random) {
      case 0, 1:
        let outcome = bench.bearer.enqueueRequest(TransactionID(rawValue: next))
        #expect(outcome == (waiting.count < 40 ? .waiting : .refused(limit: 40)))
        if waiting.count < 40 { waiting.append(next) }
        next += 1
      case 2:
        guard let victim = waiting.randomElement(using: &random) else { continue }
        bench.bearer.cancel(request: TransactionID(rawValue: victim))
        waiting.removeAll { $0 == victim }
      default:
        let granted = bench.bearer.nextRequest()
        #expect(granted?.rawValue == waiting.first, "seed \(seed)")
        guard let granted else { continue }
        waiting.removeFirst()
        bench.bearer.release(request: granted)
      }
    }
  }

  @Test func asManyWaitAsTheLimitAllows() {
    let bench = BearerBench(BearerConfiguration(maximumWaiting: 2))
    bench.request(1, "0a 01 00")
    #expect(bench.bearer.enqueueRequest(2) == .waiting)
    #expect(bench.bearer.enqueueRequest(3) == .waiting)
    #expect(bench.bearer.enqueueRequest(4) == .refused(limit: 2))
    #expect(bench.bearer.enqueueIndication(5) == .waiting)
  }

  /// If encoding a request throws, nothing is sent and the slot stays granted.
  @Test func aRequestThatThrows() {
    struct Unwritable: Error {}
    let bench = bench(.granted)
    #expect(throws: Unwritable.self) {
      try bench.bearer.transmit(request: 1, at: .zero) {
        (out: inout OutputRawSpan) throws(Unwritable) in
        out.append(Opcode.readRequest)
        throw Unwritable()
      }
    }
    #expect(bench.sent.isEmpty)
    bench.bearer.release(request: 1)
    #expect(bench.request(2, "0a 01 00"))
  }

  // MARK: Failure

  /// Transactions end with the bearer and may be cancelled afterwards.
  @Test func cancelledAfterTheEnd() {
    let bench = BearerBench()
    bench.request(1, "0a 0100")
    for id in 2...5 as ClosedRange<UInt64> {
      #expect(bench.bearer.enqueueRequest(TransactionID(rawValue: id)) == .waiting)
    }
    bench.receive("0b")
    #expect(bench.bearer.nextRequest() == TransactionID(rawValue: 2))
    bench.bearer.transmit(request: TransactionID(rawValue: 2), at: .zero) { out in
      out.append(UInt8(0x0A))
    }
    bench.receive("13")
    #expect(bench.failure != nil)
    for id in 1...6 as ClosedRange<UInt64> {
      bench.bearer.cancel(request: TransactionID(rawValue: id))
    }
    #expect(bench.bearer.nextRequest() == nil)
  }

  @Test func aDeadBearerSendsNothing() throws {
    let bench = bench(.inFlight)
    bench.receive("0a 03 00")
    bench.bearer.command { $0.append(Opcode.writeCommand) }
    bench.bearer.fail(.linkEnded)
    #expect(bench.hasNothingToSend)
    #expect(bench.bearer.enqueueRequest(2) == .dead(.linkEnded))
    #expect(bench.bearer.enqueueIndication(2) == .dead(.linkEnded))
    #expect(bench.bearer.nextRequest() == nil)
    #expect(bench.deadline == nil)
    bench.respond("0b")
    bench.bearer.confirm()
    bench.bearer.notify { $0.append(Opcode.handleValueNotification) }
    bench.bearer.command { $0.append(Opcode.writeCommand) }
    bench.bearer.transmitRaw(([0x0A] as [UInt8]).span.bytes)
    for pdu in ["0a 03 00", "0b", "1e", "1d 03 00", "02 17 00", "ff", ""] {
      #expect(bench.receive(pdu) == .ignored(.dead))
    }
    #expect(bench.hasNothingToSend)
    bench.bearer.fail(.transactionTimeout(.readRequest))
    #expect(bench.failure == .linkEnded)
  }

  @Test func countsWhatItIgnores() {
    let bench = BearerBench()
    for pdu in ["", "0b", "1e", "7f", "52", "1b 00"] { bench.receive(pdu) }
    #expect(bench.bearer.ignoredCount == 6)
  }
}
