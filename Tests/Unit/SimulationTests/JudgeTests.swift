import AttoATT
import AttoGATT
import TestSupport
import Testing

@testable import AttoSimulation

/// Tests that the judge and the model detect violations.
@Suite(.sideBySide) struct JudgeTests {
  private final class Reports {
    var rules: [String] = []
  }
  private let reports = Reports()
  private let model: ServerModel
  private let client: ModelClient
  private let judge: Judge

  init() {
    let reports = reports
    model = ServerModel(limits: ServerLimits())
    model.add(
      ServiceDefinition(
        0x1800,
        characteristics: [
          CharacteristicDefinition(
            0xFF01, properties: [.read, .write, .notify, .indicate], value: .stored([7]))
        ]))
    client = model.connect(ClientID(rawValue: 1), .low, nil)
    judge = Judge(
      BearerConfiguration(), isTrusted: true, isRogue: false, model: model, client: client
    ) { rule, _ in reports.rules.append(rule) }
  }

  private func arrive(_ pdu: [UInt8], _ seconds: Int = 0) {
    judge.arrive(pdu, at: .zero + .seconds(seconds))
    judge.settle()
  }

  private func produce(_ pdu: [UInt8], _ seconds: Int = 0) {
    judge.produce(pdu, encoder: nil, at: .zero + .seconds(seconds))
  }

  @Test func acceptsACorrectResponse() {
    arrive([0x0A, 3, 0])
    produce([0x0B, 7])
    #expect(reports.rules == [])
  }

  @Test(
    arguments: [
      [0x0B, 8], [0x0B], [0x0B, 7, 7], [0x01, 0x0A, 3, 0, 0x02], [0x13],
    ] as [[UInt8]]) func rejectsWrongResponses(_ response: [UInt8])
  {
    arrive([0x0A, 3, 0])
    produce(response)
    #expect(reports.rules == ["responses are right"])
  }

  @Test func rejectsAnUnsolicitedResponse() {
    produce([0x0B, 7])
    #expect(reports.rules == ["responses match requests"])
  }

  @Test func holdsASecondRequest() {
    arrive([0x0A, 3, 0])
    arrive([0x0A, 3, 0])
    #expect(reports.rules == [])  // Held, and answered in order.
    produce([0x0B, 7])
    produce([0x0B, 7])
    #expect(reports.rules == [])
    produce([0x0B, 7])
    #expect(reports.rules == ["responses match requests"])
  }

  @Test func rejectsTwoOutstandingRequests() {
    produce([0x0A, 3, 0])
    produce([0x0A, 3, 0])
    #expect(reports.rules.contains("one request at a time"))
  }

  @Test func rejectsPDUsBeyondTheMTU() {
    arrive([0x12, 3, 0] + [UInt8](repeating: 1, count: 20))
    produce([0x13])
    arrive([0x0A, 3, 0])
    produce([0x0B] + [UInt8](repeating: 1, count: 23))
    #expect(reports.rules.first == "no PDU beyond ATT_MTU")
  }

  @Test func rejectsUnexpectedValues() {
    produce([0x1B, 3, 0, 1])
    #expect(reports.rules == ["notifications in order, none lost, none doubled"])
  }

  @Test func noticesAMissingValue() {
    judge.notifications.append([0x1B, 3, 0, 1])
    judge.checkState(bearerMTU: 23)
    #expect(reports.rules == ["notifications in order, none lost, none doubled"])
  }

  @Test func rejectsTwoOutstandingIndications() {
    judge.indications = [
      (TransactionID(rawValue: 1), 3, [1]), (TransactionID(rawValue: 2), 3, [2]),
    ]
    produce([0x1D, 3, 0, 1])
    #expect(reports.rules == [])
    produce([0x1D, 3, 0, 2])
    #expect(reports.rules == ["one indication at a time"])
  }

  @Test func rejectsAnUnsolicitedConfirmation() {
    arrive([0x1D, 9, 0, 1])
    produce([0x1E])
    #expect(reports.rules == [])
    produce([0x1E])
    #expect(reports.rules == ["one confirmation for each indication"])
  }

  @Test func noticesAMissingTimeout() {
    produce([0x0A, 3, 0])
    reports.rules = []
    judge.check(at: .zero + .seconds(30))
    #expect(reports.rules == [])
    judge.check(at: .zero + .milliseconds(30_001))
    #expect(reports.rules == ["transactions time out"])
  }

  @Test func rejectsAnEarlyTimeout() {
    produce([0x0A, 3, 0])
    reports.rules = []
    judge.die(.transactionTimeout(.readRequest), at: .zero + .milliseconds(29_999))
    #expect(reports.rules == ["a bearer dies for a reason"])
  }

  @Test func rejectsPDUsAfterTheBearerFailed() {
    judge.die(.linkEnded, at: .zero)
    produce([0x1E])
    #expect(reports.rules.first == "a dead bearer is silent")
  }

  @Test func exchangesDoNotReduceTheMTU() {
    arrive([0x02, 0x64, 0])
    produce([0x03, 0x05, 0x02])
    #expect(judge.mtu == 100)
    arrive([0x02, 0x17, 0])
    produce([0x03, 0x05, 0x02])
    #expect(judge.mtu == 100)
    #expect(reports.rules == [])
  }

  @Test func noticesAReducedMTU() {
    arrive([0x02, 0x64, 0])
    produce([0x03, 0x05, 0x02])
    judge.checkState(bearerMTU: 100)
    #expect(reports.rules == [])
    judge.checkState(bearerMTU: 23)
    #expect(reports.rules == ["ATT_MTU is what was exchanged"])
  }

  // MARK: Several bearers of one client

  private func another() -> Judge {
    client.bearers += 1
    let reports = reports
    return Judge(
      BearerConfiguration(channel: .enhanced(mtu: 64)), isTrusted: true, isRogue: false,
      model: model, client: client
    ) { rule, _ in reports.rules.append(rule) }
  }

  @Test func outOfSyncOnceOnEachBearer() {
    let other = another()
    client.features = 1
    model.add(ServiceDefinition(0x1234))
    for judge in [judge, other] {
      for response in [[0x01, 0x0A, 3, 0, 0x12], [0x0B, 7], [0x0B, 7]] as [[UInt8]] {
        judge.arrive([0x0A, 3, 0], at: .zero)
        judge.produce(response, encoder: nil, at: .zero)
      }
    }
    #expect(reports.rules == [])
    #expect(client.isOutOfSync)
    judge.notifications = [[0x1B, 3, 0, 1]]
    produce([0x1B, 3, 0, 1])
    #expect(reports.rules == ["no values to a client that is out of sync"])
  }

  @Test func serviceChangedIsToldOnOneBearer() throws {
    let other = another()
    model.add(.genericAttribute())
    let handle = try #require(model.rows.first { $0.type == ModelRow.serviceChanged })
    let configuration = try #require(handle.configuration)
    client.configurations[configuration] = 2
    let changed = try #require(client.changed)
    let pdu = [0x1D, UInt8(handle.handle), 0] + octets(changed.0) + octets(changed.1)
    produce(pdu)
    #expect(reports.rules == [])
    other.produce(pdu, encoder: nil, at: .zero)
    #expect(reports.rules == ["Service Changed is told on one bearer"])
    reports.rules = []
    judge.die(.linkEnded, at: .zero)
    other.arrive([0x1E], at: .zero)
    #expect(client.changed == nil && client.awareness == .unaware)
  }

  @Test func eachBearerHasItsMTU() {
    let other = another()
    other.arrive([0x0A, 3, 0], at: .zero)
    other.checkState(bearerMTU: 64)
    #expect(reports.rules == [])
    other.checkState(bearerMTU: 23)
    #expect(reports.rules == ["ATT_MTU is what was exchanged"])
  }

  @Test func aRefusedExecuteWritesNothing() {
    model.add(
      ServiceDefinition(
        0x1801,
        characteristics: [
          CharacteristicDefinition(
            0xFF02, properties: [.read, .write],
            value: .stored([], ValueLimits(maximumLength: 2)))
        ]))
    client.changed = nil
    client.awareness = .aware
    arrive([0x16, 3, 0, 0, 0, 9])
    produce([0x17, 3, 0, 0, 0, 9])
    arrive([0x16, 7, 0, 0, 0, 1, 2, 3])
    produce([0x17, 7, 0, 0, 0, 1, 2, 3])
    arrive([0x18, 1])
    produce([0x01, 0x18, 7, 0, 0x0D])
    // The first part has not been written.
    arrive([0x0A, 3, 0])
    produce([0x0B, 7])
    #expect(reports.rules == [])
    #expect(model.preparedBytes == 0)
  }
}
