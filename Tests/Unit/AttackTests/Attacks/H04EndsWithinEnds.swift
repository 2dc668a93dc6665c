import TestSupport
import AttoATT
import AttoGATT
import Testing

/// The link ends with requests pending, and the callbacks start new ones.
@Suite(.sideBySide) struct H04EndsWithinEnds {
  @Test("H4 server: an application that ends the session from inside a question, at once and late")
  func h04Server() throws {
    let application = ScriptedApplication(acceptsWrites: true)
    let server = Server(Database([service(asked())]), application: application)
    for answer: ReadAnswer in [.value([1]), .refused(ErrorCode(0x80)), .later] {
      for pdu in ["0a 0300", "0c 0300 0000", "0e 0300 0300", "08 0100 ffff 002a", "12 0300 01"] {
        let defender = TestSession(server)
        application.reads[3] = answer
        application.meanwhile = { _ in
          defender.session.linkEnded()
          server.disconnect(defender.client)
        }
        #expect(defender.send(pdu) == [], "\(pdu)")
        #expect(defender.failure == .linkEnded)
        // Late answers have no effect, even twice.
        let question = try #require(application.questions.last).id
        for _ in 0..<2 { defender.session.answer(question, .value([1]), at: .zero) }
        #expect(defender.sent == [])
        #expect(server.clients.isEmpty)
      }
    }
  }

  /// An operation that does something when it ends.
  private final class Calling: ProcedureOperation<ReadCharacteristicValue> {
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

  @Test(
    "H4 client: whoever is told of an end may end the session, cancel others and begin new ones")
  func h04Client() {
    for end in ["response", "refusal", "link", "timeout", "cancel"] {
      let client = TestSession()
      let session = client.session
      var others: [Calling] = []
      var id: TransactionID?
      let first = Calling(3) {
        if let id { session.cancel(id, at: .zero) }
        if !others.isEmpty { session.start(Calling(9) {}, at: .zero) }
        session.linkEnded()
      }
      id = session.start(first, at: .zero)
      others = [5, 7].map { handle in Calling(handle) { session.linkEnded() } }
      for other in others { session.start(other, at: .zero) }
      switch end {
      case "response": client.send("0b")
      case "refusal": client.send("01 0a 03 00 01")
      case "link": session.linkEnded()
      case "timeout": _ = session.advance(to: .zero + .seconds(31))
      default: if let id { session.cancel(id, at: .zero) }
      }
      #expect(first.ends == 1, "\(end)")
      #expect(others.map(\.ends) == [1, 1], "\(end)")
      #expect(session.operationCount == 0, "\(end)")
    }
  }
}
