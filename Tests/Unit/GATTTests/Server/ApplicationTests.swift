import TestSupport
import AttoATT
import AttoGATT
import Testing

/// Values of the application: immediate, late and missing answers, and answers to disconnected
/// clients.
@Suite(.sideBySide) struct ApplicationTests {
  private let application = ScriptedApplication()
  private let server: Server

  init() {
    let authorized = AttributePermissions.Access.requires(
      AttributePermissions.Requirement(authorization: true))
    server = Server(
      Database(
        service(
          0x1800, at: 1, value(0x2A00, .application(ValueLimits(maximumLength: 20))),
          value(0x2A00, .application(ValueLimits(maximumLength: 20))),
          value(0x2A01, .stored([7])),
          value(0x2A02, .stored([8]), AttributePermissions(read: authorized, write: authorized)),
          value(0x2A00, .application(ValueLimits(maximumLength: 20))))),
      application: application)
  }

  private var last: QuestionID { application.questions[application.questions.count - 1].id }

  @Test func atOnce() {
    let station = TestSession(server)
    application.reads[3] = .value([1, 2])
    application.writes[3] = .accepted
    application.reads[5] = .refused(ErrorCode(0x80))
    application.writes[5] = .refused(.valueNotAllowed)
    station.play(
      """
      > 0a 0300
      < 0b 0102
      > 12 0300 0506
      < 13
      > 0a 0500
      < 01 0a 0500 80
      > 12 0500 0506      # a rejected write is an error: PureSwift returns success
      < 01 12 0500 13
      > 12 0300 \(hexText([UInt8](repeating: 0, count: 20)))
      < 13
      > 52 0300 0a
      """)
    #expect(application.written.map(\.1).last == [0x0A])
    #expect(application.questions.last?.kind == .writeCommand)
    #expect(application.questions.allSatisfy { $0.client == station.client.id })
  }

  /// Every error code is sent, including unknown ones.
  @Test func everyCode() {
    let station = TestSession(server)
    for code in UInt8.min...UInt8.max {
      application.reads[3] = .refused(ErrorCode(code))
      application.writes[3] = .refused(ErrorCode(code))
      #expect(station.send("0a 0300") == ["01 0a 03 00 " + hexText([code])])
      #expect(station.send("12 0300 01") == ["01 12 03 00 " + hexText([code])])
    }
  }

  @Test func aValueThatIsTooLongIsNotOffered() {
    let station = TestSession(server)
    station.exchange(100)
    #expect(
      station.send([0x12, 3, 0] + [UInt8](repeating: 0, count: 21)) == ["01 12 03 00 0d"])
    #expect(station.send([0x52, 3, 0] + [UInt8](repeating: 0, count: 21)) == [])
    #expect(application.questions.isEmpty)
  }

  // MARK: Later

  @Test func later() {
    let station = TestSession(server)
    application.reads[3] = .later
    application.writes[3] = .later
    #expect(station.send("0a 0300") == [])
    #expect(station.answer(last, .value([9])) == ["0b 09"])
    #expect(station.send("0c 0300 0100") == [])
    #expect(station.answer(last, .part([8])) == ["0d 08"])
    #expect(station.send("0a 0300") == [])
    #expect(station.answer(last, .refused(ErrorCode(0x90))) == ["01 0a 03 00 90"])
    #expect(station.send("12 0300 01") == [])
    #expect(station.answer(last, .accepted) == ["13"])
    #expect(station.send("12 0300 01") == [])
    #expect(station.answer(last, .refused(.writeRequestRejected)) == ["01 12 03 00 fc"])
    // The peer gets an error if the application's answer has the wrong kind.
    #expect(station.send("0a 0300") == [])
    #expect(station.answer(last, .accepted) == ["01 0a 03 00 0e"])
    // The answer is not used for the next request.
    #expect(application.written.count == 2)
    #expect(station.send("0a 0300") == [])
  }

  /// A late answer to a command has no effect.
  @Test func commandsCannotWait() {
    let station = TestSession(server)
    application.writes[3] = .later
    application.authorizations[9] = .later
    #expect(station.send("52 0300 01") == [])
    #expect(station.answer(last, .accepted) == [])
    #expect(station.send("52 0900 01") == [])
    #expect(station.answer(last, .accepted) == [])
    #expect(server.database.value(of: 9) == [8])
    #expect(station.send("0a 0700") == ["0b 07"])
  }

  /// Authorization and value are two questions, each of which may be answered later.
  @Test func authorizationAndValue() {
    let station = TestSession(server)
    application.authorizations[9] = .later
    #expect(station.send("0a 0900") == [])
    #expect(application.questions.last?.kind == .authorizeRead)
    #expect(station.answer(last, .accepted) == ["0b 08"])
    #expect(station.send("0a 0900") == [])
    #expect(station.answer(last, .refused(.insufficientAuthorization)) == ["01 0a 09 00 08"])
    #expect(station.send("12 0900 01") == [])
    #expect(application.questions.last?.kind == .authorizeWrite)
    #expect(station.answer(last, .accepted) == ["13"])
    #expect(server.database.value(of: 9) == [1])
    #expect(station.send("16 0900 0000 02") == [])
    #expect(station.answer(last, .accepted) == ["17 09 00 00 00 02"])
    #expect(station.send("18 01") == ["19"])
    #expect(server.database.value(of: 9) == [2])
    #expect(application.questions.count == 4)
  }

  /// Several late values in one request: each is asked for once, in order.
  @Test func severalLateValues() {
    let station = TestSession(server)
    for handle: AttributeHandle in [3, 5, 11] { application.reads[handle] = .later }
    application.authorizations[9] = .later
    #expect(station.send("0e 0300 0700 0900 0500 0300 0b00") == [])
    #expect(station.answer(last, .value([1])) == [])
    #expect(station.answer(last, .accepted) == [])
    #expect(station.answer(last, .value([2])) == [])
    #expect(station.answer(last, .value([3])) == ["0f 01 07 08 02 01 03"])
    #expect(application.questions.map(\.handle) == [3, 9, 5, 11])
    // Read Multiple Variable and Read By Type likewise.
    application.questions = []
    #expect(station.send("20 0300 0500") == [])
    #expect(station.answer(last, .value([1])) == [])
    #expect(station.answer(last, .value([2, 3])) == ["21 01 00 01 02 00 02 03"])
    #expect(station.send("08 0100 ffff 002a") == [])
    #expect(station.answer(last, .value([1])) == [])
    #expect(station.answer(last, .value([2])) == [])
    #expect(station.answer(last, .refused(ErrorCode(0x80))) == ["09 03 03 00 01 05 00 02"])
    // The first refusal is the response, and no more questions are asked.
    application.questions = []
    #expect(station.send("0e 0300 0500") == [])
    #expect(station.answer(last, .refused(ErrorCode(0x80))) == ["01 0e 03 00 80"])
    #expect(application.questions.count == 1)
  }

  /// A question that was answered immediately is not asked again after another late answer.
  @Test func atOnceAndLate() {
    let station = TestSession(server)
    application.reads = [3: .value([1]), 5: .later]
    application.authorizations[9] = .accepted
    #expect(station.send("0e 0300 0900 0500 0300") == [])
    #expect(station.answer(last, .value([2])) == ["0f 01 08 02 01"])
    #expect(application.questions.map(\.handle) == [3, 9, 5])
  }

  @Test func lateExecution() {
    let station = TestSession(server)
    application.executes = .later
    station.send("16 0700 0000 01")
    station.send("16 0300 0000 02")
    #expect(station.send("18 01") == [])
    #expect(server.database.value(of: 7) == [7])
    #expect(station.answer(last, .accepted) == ["19"])
    #expect(server.database.value(of: 7) == [1])
    #expect(station.send("18 01") == ["19"])
    station.send("16 0700 0000 05")
    station.send("16 0300 0000 06")
    #expect(station.send("18 01") == [])
    #expect(station.answer(last, .refused(ErrorCode(0x85))) == ["01 18 03 00 85"])
    #expect(server.database.value(of: 7) == [1])
    #expect(application.executed.count == 2)
  }

  // MARK: Only its own client waits

  @Test func aSlowAnswerDelaysItsOwnClientOnly() {
    let slow = TestSession(server)
    let quick = TestSession(server)
    application.reads[3] = .later
    #expect(slow.send("0a 0300") == [])
    #expect(slow.send("0a 0700") == [])
    #expect(quick.send("0a 0700") == ["0b 07"])
    #expect(quick.send("0a 0300") == [])
    let questions = application.questions.map(\.id)
    #expect(quick.answer(questions[1], .value([2])) == ["0b 02"])
    // The question belongs to another session.
    #expect(quick.answer(questions[0], .value([3])) == [])
    #expect(slow.answer(questions[0], .value([1])) == ["0b 01", "0b 07"])
  }

  /// Pipelined requests are answered in order.
  @Test func pipelinedRequestsBehindASlowOne() {
    let station = TestSession(server)
    application.reads[3] = .later
    for pdu in ["0a 0300", "0a 0700", "0a", "0a 0300", "02 6400", "0a 0000", "52 0700 0b", "3f"] {
      #expect(station.send(pdu) == [])
    }
    #expect(
      station.answer(last, .value([1])) == ["0b 01", "0b 0b", "01 0a 00 00 04"])
    #expect(
      station.answer(last, .value([2]))
        == ["0b 02", "03 05 02", "01 0a 00 00 01", "01 3f 00 00 06"])
    #expect(station.mtu == 100)
  }

  /// Pipelined requests that fitted ATT_MTU when they arrived are executed, although an exchange
  /// before them has lowered it.
  @Test func pipelinedRequestsBehindALowerMTU() {
    var configuration = BearerConfiguration(receiveMTU: 48)
    configuration.linkMayBeReused = true
    let station = TestSession(server, configuration)
    application.reads[3] = .later
    let rest = " 00" + String(repeating: " 01", count: 22)
    for pdu in ["02 ff01", "0a 0300", "02 0000", "00" + rest, "12 0300" + rest] {
      station.send(pdu)
    }
    application.writes[3] = .accepted
    #expect(
      station.answer(last, .value([1])) == [
        "0b 01", "03 30 00", "01 00 00 00 06", "01 12 03 00 0d",
      ])
    #expect(station.mtu == 23)
  }

  @Test func tooManyPipelinedRequests() {
    let station = TestSession(server)
    application.reads[3] = .later
    station.send("0a 0300")
    for _ in 0..<16 { station.send("0a 0700") }
    #expect(station.failure == nil)
    station.send("0a 0700")
    #expect(station.actions == [.failed(.tooManyPipelinedRequests(limit: 16))])
    #expect(station.answer(last, .value([1])) == [])
  }

  // MARK: Answers without a request
  /// The bearer has failed with a timeout meanwhile.
  @Test func anAnswerOnADeadBearer() throws {
    let station = TestSession(server)
    application.reads[3] = .later
    _ = try station.session.indicate(7, [1], at: .zero)
    station.send("0a 0300")
    _ = station.sent
    #expect(
      station.session.advance(to: .zero + .seconds(30))
        == .failed(.transactionTimeout(.handleValueIndication)))
    #expect(station.answer(last, .value([1])) == [])
  }

  // MARK: Calls of the application during a question

  /// It may use the session from inside a question: notify, and end it (H4).
  @Test func theApplicationUsesTheSession() {
    let station = TestSession(server)
    application.reads[3] = .value([1])
    application.meanwhile = { _ in
      #expect(station.notify(7, [5]))
    }
    #expect(station.send("0a 0300") == ["1b 07 00 05", "0b 01"])
    application.meanwhile = { _ in
      station.session.linkEnded()
      self.server.disconnect(station.client)
    }
    #expect(station.send("0a 0300") == [])
    #expect(station.failure == .linkEnded)
    // A late answer to it has no request any more.
    let gone = TestSession(server)
    application.reads[3] = .later
    application.meanwhile = { _ in gone.session.linkEnded() }
    #expect(gone.send("0a 0300") == [])
    let count = application.questions.count
    #expect(gone.answer(last, .value([1])) == [])
    #expect(application.questions.count == count)
    let other = TestSession(server)
    application.writes[3] = .accepted
    application.meanwhile = { _ in other.session.linkEnded() }
    #expect(other.send("12 0300 01") == [])
  }

  /// It may change the database. The request is then not executed with outdated results.
  @Test(arguments: [
    "0a 0900", "0a 0300", "0c 0900 0000", "0e 0900 0700", "0e 0300 0900", "20 0300 0900",
    "08 0100 ffff 002a", "08 0100 ffff 022a", "06 0100 ffff 002a 01", "06 0100 ffff 022a 08",
    "12 0900 01", "12 0300 01", "16 0900 0000 01", "52 0900 01", "52 0300 01",
  ]) func theApplicationRemovesTheService(_ request: String) {
    let station = TestSession(server)
    for handle: AttributeHandle in [3, 5, 11] {
      application.reads[handle] = .value([1])
      application.writes[handle] = .accepted
    }
    application.authorizations[9] = .accepted
    application.meanwhile = { [server] _ in
      if server.database.count > 0 {
        #expect(throws: Never.self) { try server.remove(service: 1) }
      }
    }
    let answer = station.send(request)
    #expect(answer.count == (request.hasPrefix("52") ? 0 : 1))
    application.meanwhile = { _ in }
    #expect(station.send("0a 0300") == ["01 0a 03 00 01"])
    #expect(!server.events.contains(.valueWritten(9, by: station.client.id)))
  }

  @Test func theApplicationRemovesTheServiceWhileItExecutes() {
    let station = TestSession(server)
    station.send("16 0700 0000 01")
    station.send("16 0300 0000 02")
    application.meanwhile = { [server] _ in
      if server.database.count > 0 {
        #expect(throws: Never.self) { try server.remove(service: 1) }
      }
    }
    #expect(station.send("18 01").first?.hasPrefix("01 18") == true)
    #expect(station.send("18 01") == ["19"])
    #expect(server.events.isEmpty)
  }

  /// The database changes before a late answer. The request is executed on the new database.
  @Test func theDatabaseChangesMeanwhile() throws {
    let station = TestSession(server)
    application.reads[3] = .later
    station.send("0a 0300")
    try server.remove(service: 1)
    #expect(station.answer(last, .value([1])) == ["01 0a 03 00 01"])
    #expect(station.send("0a 0300") == ["01 0a 03 00 01"])
  }
}
