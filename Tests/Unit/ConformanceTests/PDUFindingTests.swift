import TestSupport
import AttoATT
import Testing

@testable import AttoConformance

/// What is said to be wrong with a PDU.
@Suite(.sideBySide) struct PDUFindingTests {
  static func octets(_ text: String) -> [UInt8] {
    text.split(separator: " ").map { UInt8($0, radix: 16)! }
  }

  static func isMalformed(_ octets: [UInt8]) -> Bool {
    if case .malformed = PDU(octets.span.bytes) { true } else { false }
  }

  /// The finding of form, and the place of it, for each opcode.
  static let wrong: [(pdu: String, octet: Int, part: String, section: String)] = [
    ("", 0, "opcode is missing", "3.3.1"),
    ("01 0a 01", 3, "handle is truncated: 1 of 2 octets", "3.4.1.1"),
    ("01 0a 01 00 0a 00", 5, "too long by 1 octet", "3.4.1.1"),
    ("02 17", 2, "client's MTU is truncated", "3.4.2.1"),
    ("03", 1, "server's MTU (2 octets) is missing", "3.4.2.2"),
    ("04 01 00 ff", 4, "ending handle is truncated", "3.4.3.1"),
    ("05 03 01 00 00 28", 1, "format must be 1 or 2, not 3", "3.4.3.2"),
    ("05 01", 2, "at least one handle with its type of 2 octets", "3.4.3.2"),
    ("05 01 01 00 00 28 02 00 03", 6, "3 of 4 octets", "3.4.3.2"),
    ("06 01 00 ff ff 00", 6, "type is truncated", "3.4.3.3"),
    ("07 01 00 05 00 06", 5, "1 of 4 octets", "3.4.3.4"),
    ("08 01 00 ff ff", 5, "type (2 octets) is missing", "3.4.4.1"),
    ("08 01 00 ff ff 00 28 00", 5, "2 or 16 octets, not 3", "3.4.4.1"),
    ("09 01 01 00", 1, "at least 2 octets, not 1", "3.4.4.2"),
    ("09 03 01 00 07 02", 5, "1 of 3 octets", "3.4.4.2"),
    ("0a", 1, "handle (2 octets) is missing", "3.4.4.3"),
    ("0c 01 00 05", 4, "offset is truncated", "3.4.4.5"),
    ("0e 01 00", 3, "two handles are required", "3.4.4.7"),
    ("0e 01 00 02 00 03", 5, "last handle is truncated", "3.4.4.7"),
    ("10 01 00 ff ff", 5, "type", "3.4.4.9"),
    ("11 03 01 00 05 00 06", 1, "at least 4 octets, not 3", "3.4.4.10"),
    ("12 01", 2, "handle is truncated", "3.4.5.1"),
    ("13 00", 1, "too long by 1", "3.4.5.2"),
    ("16 01 00", 3, "offset (2 octets) is missing", "3.4.6.1"),
    ("17 01 00 02", 4, "offset is truncated", "3.4.6.2"),
    ("18", 1, "flags (1 octet) is missing", "3.4.6.3"),
    ("19 01", 1, "too long by 1", "3.4.6.4"),
    ("1b 01", 2, "handle is truncated", "3.4.7.1"),
    ("1d", 1, "handle", "3.4.7.2"),
    ("1e 00 00", 1, "too long by 2 octets", "3.4.7.3"),
    ("20 01 00", 3, "two handles are required", "3.4.4.11"),
    ("21 01 00 05", 4, "two lengths with values", "3.4.4.12"),
    ("23 01 00 01 00 05", 6, "two handles with lengths and values", "3.4.7.4"),
    ("52 01", 2, "handle is truncated", "3.4.5.3"),
    ("d2 01 00 01 02 03 04 05 06 07 08", 11, "signature is truncated: 8 of 12", "3.4.5.4"),
  ]

  @Test(arguments: wrong.indices) func form(_ index: Int) throws {
    let (pdu, octet, part, section) = Self.wrong[index]
    let found = PDUFinding.findings(in: Self.octets(pdu))
    #expect(found.count == 1)
    let finding = try #require(found.first)
    #expect(finding.isMalformed)
    #expect(finding.octet == octet, "\(finding)")
    #expect(finding.text.contains(part), "\(finding)")
    #expect(finding.section == "Vol 3, Part F, \(section)", "\(finding)")
    #expect("\(finding)".hasPrefix("octet \(octet): "))
  }

  static let contents: [(pdu: String, octet: Int, part: String)] = [
    ("01 0b 01 00 0a", 1, "only requests"), ("01 0a 01 00 14", 4, "error 0x14 is reserved"),
    ("01 0a 01 00 00", 4, "reserved"),
    ("02 16 00", 1, "at least 23, not 22"), ("03 00 00", 1, "at least 23"),
    ("04 00 00 ff ff", 1, "start at 0x0001"), ("08 05 00 04 00 03 28", 3, "before its start"),
    ("05 01 02 00 00 28 02 00 03 28", 6, "0x0002 follows 0x0002"),
    ("07 05 00 04 00", 3, "ends at 0x0004"), ("07 05 00 06 00 04 00 06 00", 5, "follows"),
    ("09 02 02 00 01 00", 4, "handles must increase"), ("09 02 00 00", 2, "0x0000"),
    ("11 04 05 00 04 00", 4, "before its start"), ("11 04 05 00 06 00 01 00 02 00", 6, "increase"),
    ("0a 00 00", 1, "0x0000"), ("0e 01 00 00 00", 3, "0x0000"),
    ("18 02", 1, "0 (cancel) or 1 (write), not 2"),
    ("21 01 00 05 01 00 06 07", 7, "length of the last value is truncated"),
    ("23 01 00 01 00 05 02 00 05 00 06", 8, "1 of 5 octets"),
    ("23 01 00 04 00 05 06 07 08", 9, "at least two values are required, not 1"),
    ("23 01 00 01 00 05 02 00 00", 6, "3 of 4 octets"),
  ]

  @Test(arguments: contents.indices) func content(_ index: Int) throws {
    let (pdu, octet, part) = Self.contents[index]
    let found = PDUFinding.findings(in: Self.octets(pdu))
    #expect(found.count == 1, "\(found)")
    let finding = try #require(found.first)
    #expect(!finding.isMalformed)
    #expect(finding.octet == octet, "\(finding)")
    #expect(finding.text.contains(part), "\(finding)")
  }

  @Test func longValues() {
    for opcode: UInt8 in [0x12, 0x1B, 0x1D, 0x52] {
      let value = [UInt8](repeating: 1, count: 512)
      #expect(PDUFinding.findings(in: [opcode, 1, 0] + value).isEmpty)
      let found = PDUFinding.findings(in: [opcode, 1, 0] + value + [1])
      #expect(found.map(\.octet) == [515])
    }
  }

  @Test func longerThanTheMTU() {
    let pdu: [UInt8] = [0x12, 1, 0] + [UInt8](repeating: 7, count: 21)
    #expect(PDUFinding.findings(in: pdu, mtu: 24).isEmpty)
    let found = PDUFinding.findings(in: pdu, mtu: 23)
    #expect(found.map(\.octet) == [23])
    #expect(found.map(\.section) == ["Vol 3, Part F, 3.2.8"])
  }

  /// The decoder calls malformed what has a finding of form, and nothing else; exhaustively for
  /// short PDUs of each opcode, by seed for long ones.
  @Test func agreesWithTheDecoder() {
    var pdus: [[UInt8]] = [[]]
    for opcode in UInt8.min...UInt8.max {
      for length in 0...40 { pdus.append([opcode] + [UInt8](repeating: 1, count: length)) }
      // What is longer is decided by the second octet, if by any.
      for second in UInt8.min...UInt8.max where Opcode(opcode).name != nil {
        for length in [0, 2, 4, 8, 16, 36] {
          pdus.append([opcode, second] + [UInt8](repeating: 2, count: length))
        }
      }
    }
    var random = SplitMix64(seed: testSeed())
    let opcodes = (UInt8.min...UInt8.max).filter { Opcode($0).name != nil }
    for _ in 0..<20_000 {
      pdus.append(
        [opcodes[random.below(opcodes.count)]]
          + (0..<random.below(60)).map { _ in UInt8(random.below(4) * 5) })
    }
    // An expectation for each of half a million would take minutes.
    let wrong = pdus.filter { pdu in
      let found = PDUFinding.findings(in: pdu)
      let isMalformed = found.contains { $0.isMalformed }
      return isMalformed != Self.isMalformed(pdu) || isMalformed && found.count != 1
        || !found.allSatisfy { (0...pdu.count).contains($0.octet) }
    }
    #expect(wrong.isEmpty, "\(wrong.prefix(3).map { ($0, PDUFinding.findings(in: $0)) })")
  }
}
