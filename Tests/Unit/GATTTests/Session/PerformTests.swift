import AttoATT
import AttoGATT
import TestSupport
import Testing

/// `Session.perform` between two sessions whose PDUs are in arrays.
@Suite(.sideBySide) struct PerformTests {
  private struct LinkEnded: Error, Equatable {}

  /// A server and the PDUs that wait for its client.
  private final class Far {
    let server: Server
    let session: Session
    var pdus: [[UInt8]] = []
    var now = Instant.zero
    var isMute = false
    var hasEnded = false

    init() throws {
      server = Server(
        Database(
          service(
            0x180D, at: 0x10,
            value(0x2A37, .stored([1, 2, 3]), .readWrite, [.read, .write, .notify, .indicate]))))
      session = Session(server: server, client: server.connect(security: .low))
    }

    func send(_ pdu: RawSpan) throws(LinkEnded) {
      if hasEnded { throw LinkEnded() }
      _ = session.receive(pdu, at: now)
      flush()
    }

    func flush() {
      _ = session.transmit { pdu in
        if !isMute { pdus.append(pdu.owned) }
        return true
      }
    }

    func receive(_ deadline: Instant?) throws(LinkEnded) -> [UInt8]? {
      if hasEnded { throw LinkEnded() }
      if !pdus.isEmpty { return pdus.removeFirst() }
      if let deadline { now = deadline }
      return nil
    }
  }

  private func perform<P: Procedure>(
    _ procedure: P, _ session: Session, _ far: Far,
    deliver: (SessionAction, RawSpan) -> Void = { _, _ in }
  ) throws(PerformError<LinkEnded>) -> P.Output {
    try session.perform(
      procedure, at: { far.now }, send: far.send, receive: far.receive, deliver: deliver)
  }

  @Test func proceduresAndValues() throws {
    let (far, session) = (try Far(), Session())
    #expect(try perform(ExchangeMTU(clientReceiveMTU: 100), session, far) == 100)
    let database = try perform(DiscoverDatabase(), session, far)
    #expect(database.services.map(\.description) == ["180D 0x0010-0x0013"])
    #expect(
      database.characteristic(0x2A37)?.description
        == "2A37 0x0012 (read, write, notify, indicate)")
    _ = try perform(WriteValue(0x13, value: [3, 0]), session, far)
    // Literals of octets.
    let isSent = far.session.notify(0x12, [9, 8].span)
    #expect(isSent)
    _ = try far.session.indicate(0x12, [7], at: far.now)
    far.flush()
    var values: [String] = []
    let value = try perform(ReadCharacteristicValue(0x12), session, far) { action, octets in
      values.append("\(action) \(octets.owned)")
    }
    #expect(value == [1, 2, 3])
    #expect(values == ["notification [27, 18, 0, 9, 8]", "indication [29, 18, 0, 7]"])
    _ = try session.writeWithoutResponse(0x12, [4].span)
    #expect(try perform(ReadCharacteristicValue(0x12), session, far) == [4])
  }

  @Test func failures() throws {
    let (far, session) = (try Far(), Session())
    #expect(
      refusal { () throws(PerformError<LinkEnded>) in
        _ = try perform(ReadCharacteristicValue(0x77), session, far)
      } == .refused(ErrorResponse(request: .readRequest, handle: 0x77, code: .invalidHandle)))
    far.isMute = true
    #expect(
      refusal { () throws(PerformError<LinkEnded>) in
        _ = try perform(ReadCharacteristicValue(0x12), session, far)
      } == .bearer(.transactionTimeout(.readRequest)))
    #expect(far.now == .zero + .seconds(30))
    let next = Session()
    far.hasEnded = true
    do throws(PerformError<LinkEnded>) {
      _ = try perform(ReadCharacteristicValue(0x12), next, far)
      Issue.record("a link that has ended")
    } catch {
      if case .procedure(let error) = error { Issue.record(error) }
    }
    #expect(next.bearer.failure == .linkEnded)
  }

  @Test func aClockThatStandsStillEndsTheWait() throws {
    let (far, session) = (try Far(), Session())
    far.isMute = true
    var calls = 0
    let error = refusal { () throws(PerformError<LinkEnded>) in
      _ = try session.perform(
        ReadCharacteristicValue(0x12), at: { .zero }, send: far.send,
        receive: { (_) throws(LinkEnded) -> [UInt8]? in
          calls += 1
          if calls > 2000 { throw LinkEnded() }
          return nil
        })
    }
    #expect(error == .bearer(.transactionTimeout(.readRequest)))
    #expect(calls == 1000)
  }

  @Test func aClockThatMovesIsWaitedFor() throws {
    let (far, session) = (try Far(), Session())
    far.isMute = true
    var calls: Int64 = 0
    let error = refusal { () throws(PerformError<LinkEnded>) in
      _ = try session.perform(
        ReadCharacteristicValue(0x12), at: { .zero + .milliseconds(calls / 10) }, send: far.send,
        receive: { (_) throws(LinkEnded) -> [UInt8]? in
          calls += 1
          return nil
        })
    }
    #expect(error == .bearer(.transactionTimeout(.readRequest)))
    #expect(calls == 300_000)
  }

  /// The procedure's error.
  private func refusal(
    _ body: () throws(PerformError<LinkEnded>) -> Void
  ) -> ProcedureError? {
    do throws(PerformError<LinkEnded>) {
      try body()
      return nil
    } catch {
      if case .procedure(let error) = error { return error }
      return nil
    }
  }

  @Test func properties() {
    #expect(
      "\(CharacteristicProperties([.write, .extendedProperties]))" == "write, extendedProperties")
    #expect("\(CharacteristicProperties())" == "none")
    let service = Service(handle: 1, endGroupHandle: 1, uuid: 0x1801, isPrimary: false)
    #expect("\(service)" == "1801 0x0001-0x0001 (secondary)")
    #expect("\(Descriptor(handle: 4, uuid: 0x2902))" == "2902 0x0004")
  }
}
