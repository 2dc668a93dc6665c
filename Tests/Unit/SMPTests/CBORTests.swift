import AttoATT
import AttoSMP
import TestSupport
import Testing

@Suite(.sideBySide) struct CBORTests {
  /// Examples of RFC 8949, Appendix A, that the protocol can have, in their shortest form.
  private static let examples: [(String, CBOR)] = [
    ("00", .integer(0)), ("0A", .integer(10)), ("17", .integer(23)), ("1818", .integer(24)),
    ("1864", .integer(100)),
    ("1903E8", .integer(1000)), ("1A000F4240", .integer(1_000_000)),
    ("1B000000E8D4A51000", .integer(1_000_000_000_000)),
    ("1B7FFFFFFFFFFFFFFF", .integer(.max)), ("3B7FFFFFFFFFFFFFFF", .integer(.min)),
    ("20", .integer(-1)), ("29", .integer(-10)), ("3863", .integer(-100)),
    ("3903E7", .integer(-1000)),
    ("F4", .boolean(false)), ("F5", .boolean(true)), ("F6", .null), ("40", .octets([])),
    ("4401020304", .octets([1, 2, 3, 4])), ("60", .text("")), ("6161", .text("a")),
    ("6449455446", .text("IETF")),
    ("62225C", .text("\"\\")), ("62C3BC", .text("\u{FC}")), ("63E6B0B4", .text("\u{6C34}")),
    ("80", .array([])),
    ("83010203", .array([.integer(1), .integer(2), .integer(3)])),
    (
      "8301820203820405",
      .array([
        .integer(1), .array([.integer(2), .integer(3)]), .array([.integer(4), .integer(5)]),
      ])
    ),
    ("A0", .map([:])),
    ("A26161016162820203", .map(["a": .integer(1), "b": .array([.integer(2), .integer(3)])])),
    ("826161A161626163", .array([.text("a"), .map(["b": .text("c")])])),
  ]

  @Test func published() {
    for (text, value) in Self.examples {
      #expect(CBOR(octets(text)) == value, "\(text)")
      #expect(value.encoded == octets(text), "\(text)")
    }
    for (text, value): (String, CBOR) in [
      ("5F42010243030405FF", .octets([1, 2, 3, 4, 5])),
      ("7F657374726561646D696E67FF", .text("streaming")),
      ("9FFF", .array([])), ("9F018202039F0405FFFF", CBOR(octets("8301820203820405"))!),
      (
        "BF61610161629F0203FFFF",
        .map(["a": .integer(1), "b": .array([.integer(2), .integer(3)])])
      ),
      ("1800", .integer(0)), ("A2010261610A", .map(["a": .integer(10)])), ("5FFF", .octets([])),
    ] {
      #expect(CBOR(octets(text)) == value, "\(text)")
    }
  }

  @Test func malformed() {
    for text in [
      "", "18", "19FF", "1C", "1F", "3F", "1BFFFFFFFFFFFFFFFF", "3BFFFFFFFFFFFFFFFF", "41", "61FF",
      "62C328", "5F",
      "5F41", "5F6161FF", "5F5F4101FFFF", "81", "9F01", "A1", "A16161", "BF6161FF", "BF", "FF",
      "F7", "F8FF", "FB00", "C001",
      "0000", "9BFFFFFFFFFFFFFFFF00", "BBFFFFFFFFFFFFFFFF00", "BB800000000000000000",
      "5BFFFFFFFFFFFFFFFF00", "9AFFFFFFFF",
    ] {
      #expect(CBOR(octets(text)) == nil, "\(text)")
    }
    // As deep as it may be, and deeper.
    #expect(CBOR([UInt8](repeating: 0x81, count: 7) + [0]) != nil)
    #expect(CBOR([UInt8](repeating: 0x81, count: 8) + [0]) == nil)
    #expect(CBOR([UInt8](repeating: 0x9F, count: 100_000)) == nil)
  }

  /// All inputs of one and two octets, and the latter in a map; what is a value is one again when
  /// encoded.
  @Test func short() throws {
    for number in 0..<0x1_0000 {
      for input in [
        [UInt8(number >> 8), UInt8(number & 0xFF)],
        [0xA1, UInt8(number >> 8), UInt8(number & 0xFF)],
      ] {
        if let value = CBOR(input) { #expect(CBOR(value.encoded) == value) }
      }
    }
    for octet in UInt8.min ... .max {
      if let value = CBOR([octet]) { #expect(value.encoded == [octet]) }
    }
  }

  @Test func random() throws {
    var generator = SplitMix64(seed: testSeed())
    for _ in 0..<3000 {
      let value = Self.value(&generator, depth: 0)
      let encoded = value.encoded
      #expect(CBOR(encoded) == value)
      if !encoded.isEmpty { #expect(CBOR(encoded.dropLast()) == nil) }
      #expect(CBOR(encoded + [0]) == nil)
      var changed = encoded
      changed[Int.random(in: changed.indices, using: &generator)] ^=
        1 << UInt8.random(in: 0..<8, using: &generator)
      if let other = CBOR(changed) { #expect(CBOR(other.encoded) == other) }
    }
  }

  private static func value(_ generator: inout SplitMix64, depth: Int) -> CBOR {
    switch Int.random(in: 0..<(depth < 5 ? 7 : 5), using: &generator) {
    case 0:
      .integer(
        Int64.random(in: .min ... .max, using: &generator)
          >> Int64.random(in: 0..<64, using: &generator))
    case 1:
      .octets(
        (0..<Int.random(in: 0...300, using: &generator)).map { UInt8(truncatingIfNeeded: $0) })
    case 2: .text(String(repeating: "\u{E9}", count: .random(in: 0...150, using: &generator)))
    case 3: .boolean(.random(using: &generator))
    case 4: .null
    case 5:
      .array(
        (0..<Int.random(in: 0...5, using: &generator)).map { _ in
          value(&generator, depth: depth + 1)
        })
    default:
      .map(
        Dictionary(
          (0..<Int.random(in: 0...5, using: &generator)).map {
            ("key\($0)", value(&generator, depth: depth + 1))
          },
          uniquingKeysWith: { first, _ in first }))
    }
  }
}
