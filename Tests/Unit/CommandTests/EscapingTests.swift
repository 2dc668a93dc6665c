import AttoText
import FoundationEssentials
import TestSupport
import Testing

@testable import AttoCommandLine

@Suite(.oneByOne) struct EscapingTests {
  /// Controls, marks of direction, characters without a width, and separators of lines.
  private static let hostile: [ClosedRange<UInt32>] = [
    0...0x1F, 0x7F...0x9F, 0xAD...0xAD, 0x34F...0x34F, 0x61C...0x61C, 0x180E...0x180E,
    0x200B...0x200F, 0x2028...0x202E, 0x2060...0x206F, 0x3164...0x3164, 0xFEFF...0xFEFF,
    0xFFF9...0xFFFB, 0xFFFE...0xFFFF, 0xE0001...0xE007F,
  ]

  private static let scalars = (0...0x10FFFF as ClosedRange<UInt32>).compactMap {
    Unicode.Scalar($0)
  }

  @Test func everyScalar() {
    var rest = Self.scalars[...]
    while !rest.isEmpty {
      var text = ""
      text.unicodeScalars.append(contentsOf: rest.prefix(4096))
      var shown = text.printable.unicodeScalars[...]
      for scalar in rest.prefix(4096) {
        if shown.first == scalar, !Self.hostile.contains(where: { $0.contains(scalar.value) }) {
          shown.removeFirst()
          continue
        }
        let wanted = "\\u{\(String(scalar.value, radix: 16, uppercase: true))}".unicodeScalars
        guard shown.starts(with: wanted) else {
          Issue.record("\(scalar.value)")
          return
        }
        shown = shown.dropFirst(wanted.count)
      }
      #expect(shown.isEmpty)
      rest = rest.dropFirst(4096)
    }
    #expect("Ünïcödé 漢字 👍🏽 ❤️ \"\\".printable == "Ünïcödé 漢字 👍🏽 ❤️ \"\\")
  }

  /// Names of a peer are any octets, UTF-8 or not.
  @Test func everyTwoOctets() {
    for first in UInt8.min ... .max {
      for second in UInt8.min ... .max {
        let text = String(decoding: [first, second], as: UTF8.self)
        for shown in [text.printable, text.printableJSON, text.escapedForMarkup, Shown.name(text)] {
          if !shown.unicodeScalars.allSatisfy(\.isPrintable) {
            Issue.record("\(first) \(second)")
          }
        }
      }
    }
  }

  @Test func everyScalarInJSON() throws {
    var rest = Self.scalars[...]
    while !rest.isEmpty {
      var text = ""
      text.unicodeScalars.append(contentsOf: rest.prefix(4096))
      rest = rest.dropFirst(4096)
      let json = try JSON(encoding: [text]).text
      let isPrintable = json.unicodeScalars.allSatisfy(\.isPrintable)
      #expect(isPrintable)
      let back = try JSONDecoder().decode([String].self, from: Data(json.utf8))
      #expect(back.first.map { Array($0.utf8) } == Array(text.utf8))
    }
  }

  /// A key is escaped as a value is. Only what is escaped: a dictionary normalizes its keys, which
  /// takes long.
  @Test func hostileKeysInJSON() throws {
    for number in Self.hostile.joined() + [0x22, 0x5C] {
      guard let scalar = Unicode.Scalar(number) else { continue }
      let text = String(scalar)
      let literal = try JSON(encoding: text).text
      let object = try JSON(encoding: [text: 1]).text
      #expect(object.contains(literal + ":") && object.unicodeScalars.allSatisfy(\.isPrintable))
      let back = try JSONDecoder().decode([String: Int].self, from: Data(object.utf8))
      #expect(back.first.map { Array($0.key.utf8) } == Array(text.utf8))
    }
  }

  @Test func names() {
    #expect(Shown.name("a\u{1B}[2J\n\"\\\u{202E}") == #""a\u{1B}[2J\u{A}\"\\\u{202E}""#)
    #expect("<a\u{85}b>\n".escapedForMarkup == "&lt;a\\u{85}b&gt;&#10;")
  }
}
