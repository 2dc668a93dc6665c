import TestSupport
import AttoATT
import Testing

@Suite("Hexadecimal text", .sideBySide)
struct HexTests {
  @Test("Octets are written as lowercase pairs")
  func hexText() {
    #expect(Hex.text([]) == "")
    #expect(Hex.text([0x00, 0x0A, 0xFF]) == "000aff")
    #expect(Hex.text([0x00, 0x0A, 0xFF], separator: " ") == "00 0a ff")
  }

  @Test("Numbers are padded to the width of their type")
  func digits() {
    #expect(Hex.digits(0x0A as UInt8) == "0A")
    #expect(Hex.digits(0x2A as UInt16) == "002A")
    #expect(Hex.digits(1 as UInt64, uppercase: false) == "0000000000000001")
    #expect(Hex.digits(0x12345 as UInt32, count: 4) == "12345")
  }

  @Test("Only whole pairs are read")
  func octets() {
    #expect(Hex.octets("".utf8) == [])
    #expect(Hex.octets("00aAfF".utf8) == [0x00, 0xAA, 0xFF])
    for wrong in ["0", "000", "0x00", "00 01", "0g", "+1", "é0"] {
      #expect(Hex.octets(wrong.utf8) == nil, "\(wrong)")
    }
  }

  @Test("Separators are skipped around pairs, not inside them")
  func separators() {
    #expect(Hex.octets(" 00:01  02 ".utf8, separators: " :") == [0, 1, 2])
    #expect(Hex.octets("0 0".utf8, separators: " ") == nil)
    #expect(Hex.octets("00:01".utf8, separators: " ") == nil)
  }

  @Test("Numbers have 1 to 16 digits and no sign")
  func numbers() {
    #expect(Hex.number("0".utf8) == 0)
    #expect(Hex.number("2a".utf8) == 0x2A)
    #expect(Hex.number("FFFFFFFFFFFFFFFF".utf8) == .max)
    for wrong in ["", "+2A", "-1", "0x2A", "00000000000000000", "2 A"] {
      #expect(Hex.number(wrong.utf8) == nil, "\(wrong)")
    }
  }
}
