import AttoATT
import AttoGATT
import AttoFuzzing
import TestSupport
import Testing

/// Our server against the catalogue and against PDUs by seed.
@Suite(.sideBySide) struct ServerUnderAttackTests {
  /// A server with something of each kind, and one client's session on it.
  private final class Target {
    let server: Server
    let client: ServerClient
    let session: Session

    init(mtu: Int = 23) {
      let secured = AttributePermissions.Access.requires(
        AttributePermissions.Requirement(security: .high))
      let long = BluetoothUUID("00112233-4455-6677-8899-aabbccddeeff")!
      var database = Database()
      for service in [
        ServiceDefinition(
          0x180D, handle: 1, endHandle: 0x20,
          characteristics: [
            CharacteristicDefinition(0x2A37, properties: [.read, .notify], value: .stored([7])),
            CharacteristicDefinition(
              0x2A00, properties: [.read, .write],
              value: .stored([UInt8](repeating: 2, count: 512))),
            CharacteristicDefinition(long, properties: [.read, .write], value: .stored([1, 2])),
            CharacteristicDefinition(
              0x2A01, properties: [.read, .write], value: .stored([3]),
              permissions: AttributePermissions(read: secured, write: secured)),
          ]),
        ServiceDefinition(long, handle: 0x30), ServiceDefinition(0x1234, handle: 0xFFFF),
      ] {
        try! database.add(service)
      }
      server = Server(database)
      client = server.connect(security: .low)!
      session = Session(BearerConfiguration(receiveMTU: mtu), server: server, client: client)
      if mtu > 23 { _ = send([0x02, UInt8(mtu & 0xFF), UInt8(mtu >> 8)]) }
    }

    func send(_ pdu: [UInt8]) -> [[UInt8]] {
      if case .indication = session.receive(pdu.span.bytes, at: .zero) { session.confirm() }
      var sent: [[UInt8]] = []
      while !session.bearer.outbox.isEmpty {
        var octets: [UInt8] = []
        session.bearer.outbox.removeFirst(into: &octets)
        sent.append(octets)
      }
      return sent
    }

    /// The declaration at 0x0002 is one that anybody may read and nobody can write.
    var answers: Bool { send([0x0A, 2, 0]) == [[0x0B, 0x12, 3, 0, 0x37, 0x2A]] }
  }

  /// What is wrong with the answers to a PDU; nil if nothing is. A request has one answer, and an
  /// indication its confirmation; everything else has none, and nothing is beyond ATT_MTU.
  private func wrong(_ pdu: [UInt8], _ answers: [[UInt8]], mtu: Int) -> String? {
    if answers.contains(where: { $0.count > mtu }) { return "an answer beyond ATT_MTU" }
    switch pdu.first.map({ Opcode($0).kind }) {
    case .request:
      guard answers.count == 1, let answer = answers.first else {
        return "\(answers.count) answers"
      }
      let isError = answer.count == 5 && answer[0] == 1 && answer[1] == pdu[0]
      return isError || answer[0] == pdu[0] &+ 1 ? nil : "the answer of another request"
    case .indication: return answers == [[0x1E]] ? nil : "no confirmation"
    default: return answers.isEmpty ? nil : "an answer to what has none"
    }
  }

  @Test(arguments: [23, 185, 517]) func theCatalogue(mtu: Int) {
    let attacks = AttackCatalogue.attacks(mtu: mtu)
    for attack in attacks {
      let target = Target(mtu: mtu)
      for pdu in attack.pdus {
        if let fault = wrong(pdu, target.send(pdu), mtu: mtu) {
          Issue.record("\(attack.name): \(fault) to \(pdu)")
        }
      }
      #expect(target.answers, "\(attack.name)")
      #expect(target.session.bearer.failure == nil, "\(attack.name)")
      target.session.linkEnded()
      target.server.disconnect(target.client)
      #expect(target.server.clients.isEmpty)
    }
  }

  @Test(arguments: [1, 2, 3, 4] as [UInt64]) func bySeed(seed: UInt64) {
    let mtu = seed % 2 == 0 ? 23 : 64
    let target = Target(mtu: mtu)
    var generator = AttackGenerator(seed: seed, allowsWrites: true, mtu: mtu)
    for count in 0..<25_000 {
      let pdu = generator.next()
      if let fault = wrong(pdu, target.send(pdu), mtu: mtu) {
        Issue.record("seed \(seed), PDU \(count): \(fault) to \(pdu)")
        return
      }
      if count % 64 == 0 { #expect(target.answers, "seed \(seed), PDU \(count)") }
      target.server.events.removeAll()
    }
    #expect(target.answers)
  }

  @Test func namesAreUnique() {
    let names = AttackCatalogue.attacks().map(\.name)
    #expect(Set(names).count == names.count)
  }

  @Test func theSameSeedGivesTheSamePDUs() {
    func first(_ seed: UInt64) -> [[UInt8]] {
      var generator = AttackGenerator(seed: seed, allowsWrites: true)
      return (0..<200).map { _ in generator.next() }
    }
    #expect(first(9) == first(9))
    #expect(first(9) != first(10))
  }

  @Test func writesAreLeftOut() {
    var generator = AttackGenerator(seed: 3, allowsWrites: false, mtu: 64)
    var longest = 0
    for _ in 0..<20_000 {
      let pdu = generator.next()
      longest = max(longest, pdu.count)
      #expect(![0x12, 0x52, 0x92, 0xD2, 0x16, 0x18].contains(pdu.first ?? 0))
    }
    #expect(longest == 65)
    #expect(Attack.mayWrite([0x12]) && Attack.mayWrite([0xD2, 1]) && !Attack.mayWrite([]))
  }
}
