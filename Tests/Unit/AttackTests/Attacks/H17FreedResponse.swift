import TestSupport
import AttoATT
import AttoGATT
import AttoSimulation
import Testing

/// Use of a response after its callback freed it. AddressSanitizer detects what expectations
/// cannot.
@Suite(.sideBySide) struct H17FreedResponse {
  /// Receives a PDU from memory that is overwritten and freed afterwards.
  private func take(_ client: TestSession, _ pdu: String) {
    let octets = octets(pdu)
    let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: octets.count, alignment: 1)
    memory.copyBytes(from: octets)
    _ = client.session.receive(RawSpan(_unsafeBytes: UnsafeRawBufferPointer(memory)), at: .zero)
    for index in memory.indices { memory[index] = 0xEE }
    memory.deallocate()
  }

  /// An operation that ends the session and starts another operation when it ends.
  private final class Ending: ProcedureOperation<ReadLongValue> {
    let session: Session
    var result: Result<[UInt8], ProcedureError>?
    init(_ session: Session) {
      self.session = session
      super.init(ReadLongValue(3))
    }
    override func finish(_ result: Result<[UInt8], ProcedureError>) {
      session.linkEnded()
      session.start(RecordedOperation(ReadCharacteristicValue(5)), at: .zero)
      self.result = result
    }
  }

  @Test("H17 client: results are kept when the response, the session and its outbox are gone")
  func h17Client() throws {
    let client = TestSession()
    let reading = Ending(client.session)
    client.session.start(reading, at: .zero)
    take(client, "0b " + hexText(1, times: 22))
    take(client, "0d 02 02")
    let value = try #require(reading.result).get()
    #expect(value == [UInt8](repeating: 1, count: 22) + [2, 2])
    let discovering = TestSession()
    let discovery = discovering.start(DiscoverPrimaryServices())
    take(discovering, "11 06 0100 0500 0018")
    take(discovering, "01 10 0600 0a")
    #expect(try #require(discovery.result).get().map(\.uuid) == [0x1800])
  }

  @Test("H17 server: answers to a client that has gone, to one answered, and to no question at all")
  func h17Server() throws {
    let application = ScriptedApplication(acceptsWrites: true)
    let server = TestSession(
      Server(Database([service(asked())]), application: application))
    application.reads[3] = .later
    // The request is copied from the memory in which it arrived.
    take(server, "0c 0300 0100")
    let question = try #require(application.questions.last).id
    func answer(_ id: QuestionID) -> [String] {
      server.session.answer(id, .value([1, 2, 3]), at: .zero)
      return server.sent
    }
    #expect(answer(QuestionID(rawValue: 999)) == [])
    #expect(answer(question) == ["0d 02 03"])
    #expect(answer(question) == [])
    take(server, "0a 0300")
    server.session.linkEnded()
    server.server.disconnect(server.client)
    let second = try #require(application.questions.last).id
    #expect(answer(second) == [])
    #expect(server.send("0a 0300") == [])
  }
}
