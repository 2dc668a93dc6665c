import TestSupport
import AttoATT
import AttoGATT
import AttoSimulation
import Testing

/// Servers and clients whose peer sends arbitrary PDUs. Nothing traps or grows, and afterwards the
/// session still responds, unless its bearer has failed with a stated reason.
@Suite(.sideBySide) struct HostileClientTests {
  /// A database with every kind of attribute.
  static func richServer(_ application: ScriptedApplication = ScriptedApplication()) -> Server {
    var random = SplitMix64(seed: 7)
    let secured = AttributePermissions.Access.requires(
      AttributePermissions.Requirement(security: .high, keySize: 16))
    let authorized = AttributePermissions.Access.requires(
      AttributePermissions.Requirement(authorization: true))
    let long = BluetoothUUID("00112233-4455-6677-8899-aabbccddeeff")!
    application.reads = [0x20: .value([UInt8](0..<60)), 0x22: .refused(ErrorCode(0x80))]
    application.writes = [0x20: .accepted]
    application.authorizations = [0x1E: .accepted]
    var database = Database(
      genericAttributeService,
      ServiceDefinition(
        0x180D, handle: 0x10, endHandle: 0x3F, includes: [IncludeDefinition(service: 1)],
        characteristics: [
          CharacteristicDefinition(
            0x2A37, properties: [.read, .notify, .indicate],
            value: .stored([UInt8](repeating: 1, count: 30)),
            descriptors: [
              DescriptorDefinition(
                long, value: .stored([1, 2], ValueLimits(maximumLength: 9)), permissions: .readWrite
              ),
              DescriptorDefinition(.characteristicExtendedProperties, value: .constant([1, 0])),
            ]),
          value(0x2A00, .stored([1, 2, 3], ValueLimits(isFixedLength: true))),
          value(0x2A00, .stored([UInt8](repeating: 2, count: 512))),
          value(0x2A01, .stored([3]), AttributePermissions(read: secured, write: secured)),
          value(0x2A02, .stored([4]), AttributePermissions(read: authorized, write: authorized)),
          value(long, .application(ValueLimits()), .readWrite),
          value(0x2A03, .application(ValueLimits(maximumLength: 3))),
          value(0x2A04, .stored([5]), AttributePermissions()),
          value(0x2A05, .constant([])),
        ]))
    for index in 0..<20 {
      try! database.add(
        ServiceDefinition(
          index % 3 == 0
            ? BluetoothUUID(high: random.next(), low: random.next()) : BluetoothUUID(0x1234),
          isPrimary: index % 5 != 0))
    }
    try! database.add(ServiceDefinition(long, handle: 0xFFFF))
    return Server(database, application: application)
  }

  /// The declaration at 0x0017, which all clients may read and none may write.
  private static let probe = "0a 1700"

  private func check(_ station: TestSession, after pdu: [UInt8], _ place: @autoclosure () -> String)
  {
    guard station.failure == nil else { return }
    let answer = station.send(Self.probe)
    // The database is unchanged, or the client supports robust caching and gets 0x12 once.
    if answer.first?.hasPrefix("0b") != true, answer.first?.hasSuffix("12") != true {
      Issue.record("no answer after \(hexText(pdu)): \(answer) (\(place()))")
    }
  }

  private func isBounded(_ station: TestSession) -> Bool {
    station.session.bearer.outbox.byteCount < 9000
  }

  // MARK: Short strings

  @Test func everyShortString() {
    let station = TestSession(Self.richServer())
    var answers = 0
    func feed(_ pdu: [UInt8]) {
      answers += station.send(pdu).count
      if station.failure != nil { Issue.record("dead of \(hexText(pdu))") }
    }
    for first in UInt8.min...UInt8.max {
      feed([first])
      let isKnown = Opcode(first).name != nil
      for second in UInt8.min...UInt8.max {
        feed([first, second])
        // All third octets for known opcodes would be two million; some, and the last.
        guard isKnown else { continue }
        for third in stride(from: Int(second % 31), through: 255, by: 31) {
          feed([first, second, UInt8(third)])
        }
        feed([first, second, 255])
      }
      check(station, after: [first], "short strings")
    }
    #expect(answers > 57_000)
  }

  /// The same with a request and an indication in flight. Only a response may fail the bearer.
  @Test func everyShortStringInFlight() throws {
    var deaths = 0
    for first in UInt8.min...UInt8.max {
      for rest in [[], [0], [1], [255], [3, 0], [0, 0], [255, 255], [0x0A, 3]] as [[UInt8]] {
        let station = TestSession(Self.richServer())
        let operation = RecordedOperation(ReadCharacteristicValue(3))
        station.session.start(operation, at: .zero)
        _ = try station.session.indicate(0x13, [1], at: .zero)
        let pdu = [first] + rest
        station.send(pdu)
        if let failure = station.failure {
          deaths += 1
          #expect(Opcode(first).kind == .response, "\(hexText(pdu)): \(failure)")
          #expect(operation.result == .failure(.bearer(failure)))
        } else {
          check(station, after: pdu, "in flight")
        }
      }
    }
    // 13 responses, of which a Read Response is valid with any length.
    #expect(deaths == 12 * 8)
  }

  // MARK: All lengths

  @Test(arguments: [23, 64, 517] as [UInt16]) func everyLengthOfEveryOpcode(mtu: UInt16) {
    for opcode in Opcode.all.map(\.rawValue) + [0x00, 0x3F, 0x7F, 0xBF, 0xFF] {
      let station = TestSession(Self.richServer())
      station.exchange(mtu)
      for fill: UInt8 in [0x00, 0x01, 0x17, 0xFF] {
        var length = 1
        while length <= Int(mtu) + 1 {
          var pdu = [UInt8](repeating: fill, count: length)
          pdu[0] = opcode
          if length > 2 { pdu[2] = 0 }
          station.send(pdu)
          if let failure = station.failure {
            Issue.record("dead of \(hexText(pdu)): \(failure)")
            return
          }
          check(station, after: pdu, "length \(length)")
          length += length < 40 || length > Int(mtu) - 3 ? 1 : 7
        }
      }
    }
  }

  /// The same while a request and an indication are in flight, and another request waits.
  @Test func everyLengthInFlight() throws {
    for opcode in Opcode.all {
      for length in 1...24 {
        let station = TestSession(Self.richServer())
        let operations = [3, 5].map { RecordedOperation(ReadCharacteristicValue($0)) }
        for operation in operations { station.session.start(operation, at: .zero) }
        _ = try station.session.indicate(0x13, [1], at: .zero)
        var pdu = [UInt8](repeating: 1, count: length)
        pdu[0] = opcode.rawValue
        station.send(pdu)
        if let failure = station.failure {
          #expect(opcode.kind == .response, "\(hexText(pdu)): \(failure)")
          #expect(operations.allSatisfy { $0.result == .failure(.bearer(failure)) })
        } else {
          check(station, after: pdu, "in flight")
          #expect(operations[1].result == nil)
        }
        station.session.linkEnded()
        #expect(operations.allSatisfy { $0.result != nil })
      }
    }
  }

  // MARK: Random PDUs

  /// PDUs that may do harm: known opcodes, existing handles, lengths around limits.
  static func plausiblePDU(_ random: inout SplitMix64) -> [UInt8] {
    func handle() -> [UInt8] {
      switch Int.random(in: 0..<8, using: &random) {
      case 0: [0, 0]
      case 1: [0xFF, 0xFF]
      case 2:
        [UInt8.random(in: 0...255, using: &random), UInt8.random(in: 0...255, using: &random)]
      default: [UInt8.random(in: 0...0x50, using: &random), 0]
      }
    }
    func some(_ limit: Int) -> [UInt8] {
      let count = [0, 1, 2, limit / 2, limit].randomElement(using: &random)!
      return (0..<count).map { _ in UInt8.random(in: 0...3, using: &random) }
    }
    func uuid() -> [UInt8] {
      [
        [0, 0x28], [1, 0x28], [2, 0x28], [3, 0x28], [0, 0x2A], [2, 0x29], [0x2A, 0x2B],
        [0x0D, 0x18],
        [UInt8](repeating: 7, count: 16),
      ].randomElement(using: &random)!
    }
    switch Int.random(in: 0..<20, using: &random) {
    case 0: return [0x02] + handle()
    case 1: return [0x04] + handle() + handle()
    case 2: return [0x06] + handle() + handle() + uuid() + some(16)
    case 3, 4: return [0x08] + handle() + handle() + uuid()
    case 5: return [0x10] + handle() + handle() + uuid()
    case 6: return [0x0A] + handle()
    case 7:
      return [0x0C] + handle() + [
        UInt8.random(in: 0...255, using: &random), UInt8.random(in: 0...3, using: &random),
      ]
    case 8: return [0x0E] + (0..<Int.random(in: 1...9, using: &random)).flatMap { _ in handle() }
    case 9: return [0x20] + (0..<Int.random(in: 1...9, using: &random)).flatMap { _ in handle() }
    case 10, 11: return [0x12] + handle() + some(20)
    case 12: return [0x52] + handle() + some(20)
    case 13, 14: return [0x16] + handle() + handle() + some(18)
    case 15: return [0x18, UInt8.random(in: 0...2, using: &random)]
    case 16: return [0xD2] + handle() + some(20)
    case 17: return [0x1E]
    default:
      return (0..<Int.random(in: 0...600, using: &random)).map { _ in
        UInt8.random(in: 0...255, using: &random)
      }
    }
  }

  @Test(arguments: [1, 2, 3, 4, 5, 6] as [UInt64]) func randomPDUs(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    let server = Self.richServer()
    let station = TestSession(
      server, security: [.low, LinkSecurity(.fips)].randomElement(using: &random)!)
    for round in 0..<3000 {
      let pdu = Self.plausiblePDU(&random)
      let answers = station.send(pdu)
      let place = "seed \(seed), round \(round)"
      if let failure = station.failure {
        Issue.record("dead of \(hexText(pdu)): \(failure) (\(place))")
        return
      }
      if answers.contains(where: { ($0.count + 1) / 3 > station.mtu }) {
        Issue.record("longer than the ATT_MTU: \(answers) (\(place))")
      }
      let kind = pdu.first.map { Opcode($0).kind }
      // Only requests and indications have a response.
      let expected = kind == .request || kind == .indication ? 1 : 0
      let served = answers.count { !$0.hasPrefix("1d") }
      // The owner confirms well-formed indications.
      if kind != .indication, served != expected {
        Issue.record("\(hexText(pdu)) has \(served) answers (\(place))")
      }
      if round % 16 == 0 {
        check(station, after: pdu, place)
        server.events.removeAll()
        if round % 160 == 0 {
          _ = try? server.add(ServiceDefinition(0x5555, handle: 0x5000))
        } else {
          _ = try? server.remove(service: 0x5000)
        }
        station.session.pump(at: .zero)
        _ = station.sent
      }
    }
  }

  /// With an application that answers at random times or never, while time passes.
  @Test(arguments: [1, 2, 3, 4, 5, 6] as [UInt64]) func randomPDUsToASlowApplication(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    let application = ScriptedApplication()
    let server = Self.richServer(application)
    for handle: AttributeHandle in [0x20, 0x22] {
      application.reads[handle] = .later
      application.writes[handle] = .later
    }
    application.authorizations[0x1E] = .later
    application.executes = .later
    var stations = (0..<3).map { _ in TestSession(server) }
    var deaths: [BearerFailure] = []
    for _ in 0..<6000 {
      let index = Int.random(in: 0..<3, using: &random)
      let station = stations[index]
      switch Int.random(in: 0..<6, using: &random) {
      case 0:
        guard let question = application.questions.randomElement(using: &random) else { continue }
        let answer: LateAnswer = [
          .accepted, .value([UInt8](0..<99)), .part([1]), .refused(ErrorCode(0x80)),
        ].randomElement(using: &random)!
        station.answer(question.id, answer)
      case 1 where Int.random(in: 0..<20, using: &random) == 0:
        for station in stations { station.now = station.now + .seconds(3) }
        _ = station.session.advance(to: station.now)
      case 2:
        _ = try? station.session.indicate(0x13, [1], at: station.now)
        _ = station.sent
      default: station.send(Self.plausiblePDU(&random))
      }
      #expect(isBounded(station))
      if let failure = station.failure {
        deaths.append(failure)
        server.disconnect(station.client)
        stations[index] = TestSession(server)
        stations[index].now = station.now
      }
      application.questions.removeFirst(max(0, application.questions.count - 20))
      server.events.removeAll()
    }
    #expect(server.clients.count == 3)
    for failure in deaths {
      switch failure {
      case .tooManyPipelinedRequests, .transactionTimeout: break
      default: Issue.record("seed \(seed): \(failure)")
      }
    }
  }

  /// The client side with requests and indications in flight. Every operation ends once.
  @Test(arguments: [1, 2, 3, 4, 5, 6] as [UInt64]) func randomPDUsToAClient(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    var reasons: Set<String> = []
    for _ in 0..<150 {
      let station = TestSession(Self.richServer())
      let operation = RecordedOperation(DiscoverDatabase())
      let write = RecordedOperation(WriteLongValue(0x1A, value: [UInt8](0..<60)))
      station.session.start(operation, at: .zero)
      station.session.start(write, at: .zero)
      var request = Opcode.readByTypeRequest
      var sent = station.sent
      for _ in 0..<60 where station.failure == nil {
        if let last = sent.last(where: { Opcode(octets($0)[0]).kind == .request }) {
          request = Opcode(octets(last)[0])
        }
        var pdu = Self.plausiblePDU(&random)
        switch Int.random(in: 0..<4, using: &random) {
        // Plausible responses.
        case 0: pdu = [0x01, request.rawValue, 1, 0, 0x0A]
        case 1:
          pdu = [request.rawValue &+ 1]
          pdu += (0..<Int.random(in: 0...22, using: &random)).map { _ in
            UInt8.random(in: 0...9, using: &random)
          }
        default: break
        }
        sent = station.send(pdu)
        #expect(isBounded(station))
      }
      if let failure = station.failure { reasons.insert("\(failure)".prefix(24).description) }
      station.session.linkEnded()
      #expect(operation.result != nil && write.result != nil, "seed \(seed)")
      #expect(station.session.operationCount == 0)
    }
    #expect(!reasons.isEmpty)
  }

  // MARK: Named cases
  /// Many clients exhaust the prepare queues. Another write is refused, and the others continue.
  @Test func thePrepareQueueExhaustedByMany() {
    let server = Self.richServer()
    let part = [UInt8](repeating: 1, count: 512)
    var refused = 0
    let stations = (0..<40).map { _ in
      let station = TestSession(server)
      station.exchange(517)
      return station
    }
    for station in stations {
      for _ in 0..<8 where station.send([0x16, 0x1A, 0, 0, 0] + part)[0].hasSuffix("09") {
        refused += 1
      }
    }
    // A share of one part for each, and 65,536 octets for all: 128 parts of 512.
    #expect(refused == 40 * 8 - 40 - 128)
    // Nobody can take the share of another one.
    let late = TestSession(server)
    late.exchange(517)
    #expect(late.send([0x16, 0x1A, 0, 0, 0] + part)[0].hasPrefix("17"))
    #expect(late.send([0x16, 0x1A, 0, 0, 0] + part)[0].hasSuffix("09"))
    #expect(stations[39].send(Self.probe) == ["0b 0a 18 00 00 2a"])
    for station in stations { server.disconnect(station.client) }
    let next = TestSession(server)
    next.exchange(517)
    #expect(next.send([0x16, 0x1A, 0, 0, 0] + part)[0].hasPrefix("17"))
  }
}
