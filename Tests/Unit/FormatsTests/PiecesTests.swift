import AttoText
import TestSupport
import Testing

@Suite(.sideBySide) struct PiecesTests {
  @Test func pieces() {
    #expect("a, b, , c".pieces(between: ", ") == ["a", "b", "c"])
    #expect("a - b - c".pieces(between: " - ", maxSplits: 1) == ["a", "b - c"])
    #expect("".pieces(between: "x").isEmpty)
    #expect("xx".pieces(between: "x").isEmpty)
    #expect("abc".pieces(between: "") == ["abc"])
    #expect("é漢é".pieces(between: "漢") == ["é", "é"])
  }

  @Test func replacing() {
    #expect("aXbX".replacing(each: "X", with: "XX") == "aXXbXX")
    #expect("aaa".replacing(each: "aa", with: "b") == "ba")
    #expect("é\u{A0}👍🏽\u{A0}".replacing(each: "\u{A0}", with: " ") == "é 👍🏽 ")
    #expect("".replacing(each: "a", with: "b") == "")
    // The same as the standard library's.
    for text in ["abcabc", "bcbcbc", "aabbcc", "a"] {
      for part in ["a", "bc", "abc", "cc"] {
        #expect(text.replacing(each: part, with: "-") == text.replacing(part, with: "-"))
        #expect(text.pieces(between: part) == text.split(separator: part))
      }
    }
  }
}
