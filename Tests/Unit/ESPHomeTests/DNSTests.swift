import TestSupport
import Testing

@testable import AttoESPHome

@Suite(.sideBySide) struct DNSTests {
  static let service = AnnouncedService(
    name: "hall", port: 6053, texts: [("mac", "020000000001"), ("network", "ethernet")],
    addresses: [[192, 0, 2, 1], [UInt8](repeating: 0xFE, count: 16)])

  static func message(_ records: [DNSRecord] = [], _ questions: [DNSQuestion] = []) -> DNSMessage {
    var message = DNSMessage()
    message.isResponse = questions.isEmpty
    (message.answers, message.questions) = (records, questions)
    return message
  }

  @Test func everyRecordReadsBack() throws {
    let records = Self.service.records([.meta, .pointer, .service, .text, .ipv4, .ipv6])
    #expect(records.count == 6)
    let written = Self.message(records).octets
    #expect(try DNSMessage(written) == Self.message(records))
    // Each name but the target of SRV is there once.
    #expect(written.count < 300)
    let only = try DNSMessage(Self.message(Self.service.records([.hostOnly])).octets)
    // The types 1 and 28.
    #expect(
      only.answers.map(\.data)
        == [.other(type: 47, octets("04 68616c6c 05 6c6f63616c 00 0004 40000008"))])
  }

  /// A question as python-zeroconf sends it.
  @Test func aQuestion() throws {
    let message = try DNSMessage(
      octets(
        "0000 0000 0001 0001 0000 0000 0b 5f657370686f6d656c6962 04 5f746370 05 6c6f63616c 00 000c 8001"
          + "c00c 000c 0001 00001194 0007 04 68616c6c c00c"))
    #expect(
      message.questions == [DNSQuestion(name: AnnouncedService.type, type: 12, wantsUnicast: true)])
    #expect(message.answers.first?.data == .pointer(Self.service.instance))
    #expect(!message.isResponse)
  }

  @Test func namesDifferNotInCase() {
    #expect(DNSName("Hall", "LOCAL") == DNSName("hall", "local"))
    #expect(DNSName("hal", "local") != DNSName("ha", "llocal"))
    // 0x5B and 0x7B are no letters.
    #expect(DNSName([[0x5B]]) != DNSName([[0x7B]]))
  }

  @Test(
    arguments: [
      // A pointer to itself, ahead, and into its own name.
      ("c00c", .name), ("c00e", .name), ("01 61 c00c", .name), ("01 61 01 62 c00e", .name),
      // Reserved labels, and names without an end.
      ("40 00", .name), ("80 00", .name), ("3f 61", .truncated), ("01 61", .truncated),
      ("c0", .truncated), ("00 00", .truncated), ("00 000c 00", .truncated),
    ] as [(String, DNSError)])
  func malformedQuestions(text: String, error: DNSError) {
    #expect(throws: error) {
      try DNSMessage(octets("0000 0000 0001 0000 0000 0000") + octets(text))
    }
  }

  @Test func limits() throws {
    // 255 octets are the longest name.
    let label = [UInt8](repeating: 0x61, count: 63)
    var name = DNSName([label, label, label, Array(label.dropLast(2))])
    let question = { DNSQuestion(name: name, type: 1) }
    #expect(try DNSMessage(Self.message([], [question()]).octets).questions == [question()])
    name.labels[3].append(0x61)
    #expect(throws: DNSError.name) { try DNSMessage(Self.message([], [question()]).octets) }
    // Pointers to pointers.
    for (count, isLegal) in [(32, true), (33, false)] {
      var chain = octets("0000 0000 0000 0000 0000 0000 00 000c 0001")
      chain[5] = UInt8(count + 1)
      var last: UInt8 = 12
      for _ in 0..<count {
        let next = UInt8(chain.count)
        chain += [0xC0, last, 0, 12, 0, 1]
        last = next
      }
      #expect(((try? DNSMessage(chain)) != nil) == isLegal)
    }
    let many = [UInt8](repeating: 0, count: 4) + octets("0101 0000 0000 0000")
    #expect(throws: DNSError.tooMany) { try DNSMessage(many + [UInt8](repeating: 0, count: 2000)) }
  }

  /// Every message of up to two octets after a header with one part of each kind, and every beginning and change of
  /// one octet of a whole message.
  @Test func everythingSmallIsReadOrRefused() {
    for counts in ["0001 0000 0000 0000", "0000 0001 0000 0000", "0000 0000 0001 0000"] {
      let header = octets("0000 8400") + octets(counts)
      for first in 0...255 as ClosedRange<UInt8> {
        _ = try? DNSMessage(header + [first])
        for second in 0...255 as ClosedRange<UInt8> {
          _ = try? DNSMessage(header + [first, second])
        }
      }
    }
    let whole = Self.message(
      Self.service.records([.meta, .pointer, .service, .text, .ipv4, .ipv6, .hostOnly])
    ).octets
    for count in whole.indices { _ = try? DNSMessage(Array(whole.prefix(count))) }
    for index in whole.indices {
      for value in [0, 1, 0x3F, 0x40, 0x7F, 0x80, 0xC0, 0xC1, 0xFF] as [UInt8] {
        var changed = whole
        changed[index] = value
        guard let message = try? DNSMessage(changed) else { continue }
        // What can be read can be written and read again.
        let again = try? DNSMessage(message.octets)
        #expect(again == message || message.answers.isEmpty, "octet \(index), \(value)")
      }
    }
  }

  @Test func randomMessagesAreReadOrRefused() {
    var random = SeededRandom(seed: 32)
    for _ in 0..<50_000 {
      var input = (0..<Int.random(in: 0...80, using: &random)).map { _ in
        UInt8.random(in: 0...255, using: &random)
      }
      // Most headers would be refused.
      for index in input.indices.prefix(12) { input[index] = index % 2 == 1 ? input[index] & 3 : 0 }
      _ = try? DNSMessage(input)
    }
  }
}
