import TestSupport
import AttoATT
import AttoGATT
import Testing

/// Read Multiple: late values, and permissions of values that do not fit.
@Suite(.sideBySide) struct H07ReadMultiple {
  @Test("H7 server: permissions past the room of the response count all the same")
  func h07ServerPermissions() {
    let server = TestSession(
      service(
        value([UInt8](repeating: 1, count: 512)), value([UInt8](repeating: 2, count: 512)),
        value([0xC0], .writeOnly)))
    for opcode in ["0e", "20"] {
      #expect(server.send("\(opcode) 0300 0500 0700") == ["01 \(opcode) 07 00 02"])
      #expect(server.send("\(opcode) 0300 0500 0900") == ["01 \(opcode) 09 00 01"])
    }
  }

  @Test("H7 server: slow values are asked for one by one, and one response comes of them")
  func h07ServerSlow() throws {
    let application = ScriptedApplication(acceptsWrites: true)
    let server = TestSession(
      Server(Database([service(asked(), asked(), asked())]), application: application))
    for handle: AttributeHandle in [3, 5, 7] { application.reads[handle] = .later }
    for (opcode, response) in [
      ("0e", "0f 03 03 05 07"), ("20", "21 02 00 03 03 01 00 05 01 00 07"),
    ] {
      application.questions = []
      #expect(server.send("\(opcode) 0300 0500 0700") == [])
      var sent: [String] = []
      for (handle, octets) in [(3, [3, 3]), (5, [5]), (7, [7])] as [(AttributeHandle, [UInt8])] {
        #expect(sent == [])
        let question = try #require(application.questions.last)
        #expect(question.handle == handle)
        server.session.answer(question.id, .value(octets), at: .zero)
        sent = server.sent
      }
      #expect(sent == [response])
      #expect(application.questions.count == 3)
      // If one value is refused, the response is the error without any value.
      server.send("\(opcode) 0300 0500 0700")
      let first = try #require(application.questions.last).id
      server.session.answer(first, .value([0xC0]), at: .zero)
      let second = try #require(application.questions.last).id
      server.session.answer(second, .refused(ErrorCode(0x80)), at: .zero)
      #expect(server.sent == ["01 \(opcode) 05 00 80"])
    }
  }

  @Test("H7 client: a response that is cut ends with what there is; one with too little is refused")
  func h07Client() throws {
    let part = hexText(1, times: 20)
    let values = try #require(
      TestSession().perform(ReadMultipleVariable([3, 5, 7]), "21 2800 \(part)")
    ).get()
    #expect(values.map(\.isCut) == [true])
    #expect(
      TestSession().perform(ReadMultipleVariable([3, 5]), "21 0200 aabb")?.error
        == .violation(.incompleteResponse(.readMultipleVariableRequest)))
    #expect(
      TestSession().perform(ReadMultipleVariable([3, 5]), "21 0000 0000 0000")?.error
        == .violation(.incompleteResponse(.readMultipleVariableRequest)))
    #expect(TestSession().perform(ReadMultiple([3, 5]), "0f")?.isSuccess == true)
  }
}
