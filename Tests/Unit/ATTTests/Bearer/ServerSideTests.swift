import TestSupport
import AttoATT
import Testing

/// The server side of a bearer: one request and one indication at a time.
@Suite(.sideBySide) struct ServerSideTests {
  // MARK: Responses of the bearer itself

  @Test(arguments: [
    ("0a", "01 0a 00 00 04"), ("0a 03", "01 0a 00 00 04"), ("0a 03 00 00", "01 0a 00 00 04"),
    ("02 17", "01 02 00 00 04"), ("04 01 00 ff", "01 04 00 00 04"), ("0e 01 00", "01 0e 00 00 04"),
    ("0e 01 00 02", "01 0e 00 00 04"), ("16 01 00 00", "01 16 00 00 04"),
    ("18", "01 18 00 00 04"), ("12 01", "01 12 00 00 04"), ("20 01 00", "01 20 00 00 04"),
    ("00", "01 00 00 00 06"), ("14 00", "01 14 00 00 06"), ("3f", "01 3f 00 00 06"),
    ("bf 01 02", "01 bf 00 00 06"),
  ]) func refusesByItself(_ pdu: String, _ answer: String) {
    let bench = BearerBench()
    #expect(bench.receive(pdu) == .answered)
    #expect(bench.sent == [answer])
    #expect(bench.receive("0a 03 00") == .request)
  }

  /// A request longer than ATT_MTU is refused, not cut and executed.
  @Test func aRequestLongerThanTheMTU() {
    let bench = BearerBench()
    #expect(bench.receive([0x12, 3, 0] + [UInt8](repeating: 1, count: 21)) == .answered)
    #expect(bench.sent == ["01 12 00 00 04"])
    #expect(bench.receive([0x12, 3, 0] + [UInt8](repeating: 1, count: 20)) == .request)
  }

  /// Commands, notifications and confirmations that are too long or malformed are ignored. Such an
  /// indication is confirmed.
  @Test func whatIsLongerThanTheMTUAndNoRequest() {
    let bench = BearerBench()
    let rest = [UInt8](repeating: 0, count: 23)
    #expect(bench.receive([0x52] + rest) == .ignored(.malformed(.writeCommand)))
    #expect(bench.receive([0xD2] + rest) == .ignored(.malformed(.signedWriteCommand)))
    #expect(bench.receive([0x1B] + rest) == .ignored(.malformed(.handleValueNotification)))
    #expect(bench.receive([0x23] + rest) == .ignored(.malformed(.multipleHandleValueNotification)))
    #expect(bench.receive([0x1E] + rest) == .ignored(.malformed(.handleValueConfirmation)))
    #expect(bench.receive([0x0B] + rest) == .ignored(.unsolicitedResponse(.readResponse)))
    #expect(bench.sent.isEmpty)
    #expect(bench.receive([0x1D] + rest) == .ignored(.malformed(.handleValueIndication)))
    #expect(bench.sent == ["1e"])
  }

  /// H16. Every indication is confirmed.
  @Test func h16NotificationsAndIndicationsShorterThanThreeOctets() {
    let bench = BearerBench()
    for pdu in ["1b", "1b 03", "23", "23 03 00 00 00 04 00 00"] {
      #expect(bench.receive(pdu) == .ignored(.malformed(Opcode(octets(pdu)[0]))))
    }
    #expect(bench.sent.isEmpty)
    for pdu in ["1d", "1d 03"] {
      #expect(bench.receive(pdu) == .ignored(.malformed(.handleValueIndication)))
      #expect(bench.sent == ["1e"])
    }
  }

  /// H19: opcodes are not used as indices.
  @Test func h19EveryOpcode() {
    for number in UInt8.min...UInt8.max {
      let bench = BearerBench()
      _ = bench.receive([number])
      _ = bench.receive([number] + [UInt8](repeating: 0xFF, count: 22))
      #expect(bench.failure == nil)
    }
  }

  // MARK: Pipelined requests

  @Test func pipelinedRequestsAreTakenUpInOrder() {
    let bench = BearerBench()
    #expect(bench.receive("0a 01 00") == .request)
    #expect(bench.receive("0a 02 00") == .held)
    #expect(bench.receive("0a") == .held)
    #expect(bench.receive("02 17 00") == .held)
    #expect(bench.receive("3f 01") == .held)
    // Other PDUs are received.
    #expect(bench.receive("52 01 00") == .command)
    #expect(bench.receive("1b 01 00") == .notification)
    #expect(bench.held() == nil)
    #expect(bench.sent.isEmpty)
    bench.respond("0b 01")
    for (held, action, answer) in [
      ("0a 02 00", BearerAction.request, "0b 02"), ("0a", .answered, "01 0a 00 00 04"),
      ("02 17 00", .answered, "03 05 02"), ("3f 01", .answered, "01 3f 00 00 06"),
    ] {
      let pdu = bench.held()
      #expect(pdu == held)
      #expect(bench.receive(pdu ?? "") == action)
      if action == .request { bench.respond(answer) }
      #expect(bench.sent.last == answer)
    }
    #expect(bench.held() == nil)
    #expect(!bench.owesResponse)
  }

  /// A response from a queue is sent unchanged, and the queue can be reused.
  @Test func responsesFromAQueue() {
    let bench = BearerBench()
    var queue = PDUQueue()
    for others in [[], ["1b 05 00 01"], ["1b 05 00 01", "1b 05 00 02"], []] {
      #expect(bench.receive("0a 03 00") == .request)
      for pdu in others { bench.bearer.notify { $0.append(octets(pdu).span.bytes) } }
      queue.append(octets("0b 31 32").span.bytes)
      bench.bearer.respond(from: &queue)
      let isEmpty = queue.isEmpty
      #expect(isEmpty)
      #expect(!bench.owesResponse)
      bench.bearer.notify { $0.append(octets("1b 05 00 03").span.bytes) }
      #expect(bench.sent == others + ["0b 31 32", "1b 05 00 03"])
    }
  }

  @Test func aDeadBearerDropsAResponse() {
    let bench = BearerBench()
    #expect(bench.receive("0a 03 00") == .request)
    bench.bearer.fail(.linkEnded)
    var queue = PDUQueue()
    queue.append(octets("0b 31").span.bytes)
    bench.bearer.respond(from: &queue)
    let isEmpty = queue.isEmpty
    #expect(isEmpty)
    #expect(bench.sent.isEmpty)
  }

  @Test func oneMoreThanTheLimitOfPipelinedRequests() {
    let bench = BearerBench(BearerConfiguration(maximumPipelined: 3))
    #expect(bench.receive("0a 01 00") == .request)
    for _ in 0..<3 { #expect(bench.receive("0a 02 00") == .held) }
    #expect(bench.receive("0a 02 00") == .failed(.tooManyPipelinedRequests(limit: 3)))
    #expect(bench.held() == nil)
  }

  @Test func noPipelining() {
    let bench = BearerBench(BearerConfiguration(maximumPipelined: 0))
    #expect(bench.receive("0a 01 00") == .request)
    #expect(bench.receive("0a") == .failed(.tooManyPipelinedRequests(limit: 0)))
  }

  /// A request that was too long when it arrived is refused later, even if the MTU has grown.
  @Test func aHeldRequestLongerThanTheMTU() {
    let bench = BearerBench()
    #expect(bench.receive("0a 01 00") == .request)
    #expect(bench.receive([0x12, 3, 0] + [UInt8](repeating: 1, count: 40)) == .held)
    bench.request(1, "02 05 02")
    #expect(bench.receive("03 05 02") == .response(1))
    #expect(bench.mtu == 517)
    bench.respond("0b")
    _ = bench.sent
    let held = bench.held()
    #expect(bench.receive(held ?? "") == .answered)
    #expect(bench.sent == ["01 12 00 00 04"])
  }

  /// Holds the longest PDUs that a link can carry, at the maximum MTU.
  @Test func aHeldRequestLongerThanAnyMTU() {
    let bench = BearerBench(BearerConfiguration(channel: .enhanced(mtu: 65535)))
    #expect(bench.receive("0a 01 00") == .request)
    #expect(bench.receive([UInt8](repeating: 0x12, count: 70_000)) == .held)
    #expect(bench.receive([UInt8](repeating: 0x12, count: 65_535)) == .held)
    bench.respond("0b")
    #expect(bench.receive(bench.held() ?? "") == .answered)
    #expect(bench.receive(bench.held() ?? "") == .request)
  }

  // MARK: Indications

  @Test func oneIndicationAtATime() {
    let bench = BearerBench()
    #expect(bench.indicate(1, "1d 03 00 01"))
    #expect(!bench.indicate(2, ""))
    #expect(bench.sent == ["1d 03 00 01"])
    #expect(bench.receive("1e") == .confirmation(1))
    #expect(bench.bearer.nextIndication() == 2)
  }

  @Test func unsolicitedAndSecondConfirmations() {
    let bench = BearerBench()
    #expect(bench.receive("1e") == .ignored(.unsolicitedConfirmation))
    bench.indicate(1, "1d 03 00")
    #expect(bench.receive("1e") == .confirmation(1))
    #expect(bench.receive("1e") == .ignored(.unsolicitedConfirmation))
  }

  /// A confirmation with extra octets is ignored, and the indication times out.
  @Test func aMalformedConfirmation() {
    let bench = BearerBench()
    bench.indicate(1, "1d 03 00")
    #expect(bench.receive("1e 00") == .ignored(.malformed(.handleValueConfirmation)))
    #expect(
      bench.bearer.advance(to: .zero + .seconds(30))
        == .failed(.transactionTimeout(.handleValueIndication)))
  }

  @Test func indicationsTimeOut() {
    let bench = BearerBench()
    bench.indicate(1, "1d 03 00")
    bench.now = .zero + .milliseconds(29_900)
    #expect(bench.bearer.advance(to: bench.now) == nil)
    #expect(bench.receive("1e") == .confirmation(1))
    bench.indicate(2, "1d 03 00")
    bench.now = bench.now + .milliseconds(30_100)
    #expect(bench.receive("1e") == .failed(.transactionTimeout(.handleValueIndication)))
  }

  @Test func cancelIndications() {
    let bench = BearerBench()
    bench.indicate(1, "1d 03 00")
    bench.indicate(2, "")
    bench.indicate(3, "")
    bench.bearer.cancel(indication: 2)
    bench.bearer.cancel(indication: 1)
    #expect(bench.bearer.nextIndication() == nil)
    #expect(bench.receive("1e") == .ignored(.abandoned))
    #expect(bench.bearer.nextIndication() == 3)
    bench.bearer.cancel(indication: 3)
    #expect(bench.indicate(4, "1d 03 00"))
  }

  /// Requests and indications do not wait for each other, in either direction.
  @Test func slotsAreIndependent() {
    let bench = BearerBench()
    #expect(bench.request(1, "0a 01 00"))
    #expect(bench.indicate(2, "1d 03 00"))
    #expect(bench.receive("0a 05 00") == .request)
    #expect(bench.receive("1d 05 00") == .indication)
    #expect(bench.receive("1e") == .confirmation(2))
    #expect(bench.receive("0b") == .response(1))
    bench.bearer.confirm()
    bench.respond("0b")
    #expect(bench.sent == ["0a 01 00", "1d 03 00", "1e", "0b"])
  }

  /// A second indication before the first is confirmed: both are delivered and both confirmed.
  @Test func aSecondIndicationBeforeTheConfirmation() {
    let bench = BearerBench()
    #expect(bench.receive("1d 05 00") == .indication)
    #expect(bench.receive("1d 06 00") == .indication)
    bench.bearer.confirm()
    bench.bearer.confirm()
    #expect(bench.sent == ["1e", "1e"])
  }

  @Test func congestionIsToldByTheOctetsThatWait() {
    let bench = BearerBench(BearerConfiguration(outboxLimit: 50))
    bench.bearer.notify { $0.append([UInt8](repeating: 0x1B, count: 23).span.bytes) }
    #expect(!bench.isCongested)
    bench.bearer.notify { $0.append([UInt8](repeating: 0x1B, count: 23).span.bytes) }
    #expect(bench.isCongested)
    _ = bench.sent
    #expect(!bench.isCongested)
  }
}
