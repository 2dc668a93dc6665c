import TestSupport
import Testing

@testable import AttoESPHome

@Suite(.oneByOne) struct ProtobufTests {
  static func fields(_ octets: [UInt8]) throws -> [ProtobufReader.Field] {
    var reader = ProtobufReader(octets[...])
    var fields: [ProtobufReader.Field] = []
    while let field = try reader.next() { fields.append(field) }
    return fields
  }

  @Test(arguments: [0, 1, 127, 128, 300, 1 << 32, UInt64.max - 1, .max])
  func integers(value: UInt64) throws {
    var writer = ProtobufWriter()
    writer.integer(7, value)
    let fields = try Self.fields(writer.octets)
    #expect(fields.map(\.number) == (value == 0 ? [] : [7]))
    #expect(try fields.first?.integer() ?? 0 == value)
  }

  @Test func everyKindOfValue() throws {
    var writer = ProtobufWriter()
    writer.signed(1, -1)
    writer.zigzag(2, -60)
    writer.fixed(3, 0x0403_0201)
    writer.text(4, "ä")
    writer.integers(5, [1, 300])
    writer.message(6) { $0.flag(1, true) }
    #expect(
      writer.octets
        == octets(
          """
          08 ffffffffffffffffff01 10 77 1d 01020304 22 02 c3a4 2a 03 01 ac02 32 02 0801
          """))
    let fields = try Self.fields(writer.octets)
    #expect(fields.map(\.number) == [1, 2, 3, 4, 5, 6])
    #expect(fields[2].value == .fixed32(0x0403_0201))
    #expect(try fields[3].text() == "ä")
  }

  @Test(
    arguments: [
      ("08", .truncated), ("08ff", .truncated), ("0a05010203", .truncated),
      ("0affffffffffffffffff01", .truncated), ("0d010203", .truncated),
      ("0901020304050607", .truncated), ("80", .truncated),
      ("08ffffffffffffffffff02", .longVarint), ("08ffffffffffffffffffff01", .longVarint),
      ("0000", .fieldNumber), ("8080808010 00", .fieldNumber),
      ("0b", .wireType(3)), ("0c", .wireType(4)), ("0e", .wireType(6)), ("0f", .wireType(7)),
    ] as [(String, ProtobufError)])
  func malformed(text: String, error: ProtobufError) {
    #expect(throws: error) { try Self.fields(octets(text)) }
  }

  @Test func wrongKindsAndValues() throws {
    let fields = try Self.fields(octets("0a01ff 10ffff03 1a00"))
    #expect(throws: ProtobufError.mismatch(field: 1)) { try fields[0].integer() }
    #expect(throws: ProtobufError.text(field: 1)) { try fields[0].text() }
    #expect(throws: ProtobufError.mismatch(field: 2)) { try fields[1].data() }
    #expect(try fields[1].integer(as: UInt16.self) == 0xFFFF)
    #expect(throws: ProtobufError.value(field: 2)) { try fields[1].integer(as: UInt8.self) }
    #expect(try fields[2].data() == [])
  }

  /// Whatever the octets are, reading ends.
  @Test func arbitraryOctets() {
    for seed in 0..<2000 {
      var random = SeededRandom(seed: UInt64(seed))
      let bytes = (0..<Int(random.next() % 40)).map { _ in UInt8(truncatingIfNeeded: random.next())
      }
      for type in ClientMessageTests.types { _ = try? ClientMessage(type: type, bytes[...]) }
    }
  }
}

/// A small generator with a seed.
struct SeededRandom: RandomNumberGenerator {
  var state: UInt64
  init(seed: UInt64) { state = seed &* 2 &+ 0x9E37_79B9_7F4A_7C15 }
  mutating func next() -> UInt64 {
    state ^= state << 13
    state ^= state >> 7
    state ^= state << 17
    return state
  }
}
