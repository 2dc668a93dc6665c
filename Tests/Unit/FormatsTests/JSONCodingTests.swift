import AttoText
import Foundation
import TestSupport
import Testing

/// Values as JSON and back. Foundation is the judge.
@Suite(.sideBySide) struct JSONCodingTests {
  private enum Word: String, Codable { case first, second }

  private struct Inner: Codable, Equatable {
    var text: String
    var word: Word
    var list: [Double?]
    var table: [String: [Int]]
  }

  private struct Outer: Codable, Equatable {
    var small: Int8 = -128
    var large: UInt64 = .max
    var negative: Int64 = .min
    var whole = 20.0
    var tiny = 1e-5
    var huge = 1.5e300
    var flag = true
    var absent: String?
    var inner = Inner(
      text: "\"\\/\n\u{1}\u{7F}é漢👍", word: .second, list: [0.1, nil, -2],
      table: ["b": [], "a": [1]])
    var inners: [Inner] = []
  }

  @Test func isReadByFoundation() throws {
    var value = Outer()
    value.inners = [value.inner, value.inner]
    let json = try JSON(encoding: value).text
    #expect(try JSONDecoder().decode(Outer.self, from: Data(json.utf8)) == value)
    #expect(try JSONParser.parse(Array(json.utf8)).decode(Outer.self) == value)
  }

  @Test func readsFoundation() throws {
    let value = Outer()
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted]
    let data = try encoder.encode(value)
    #expect(try JSONParser.parse(Array(data)).decode(Outer.self) == value)
  }

  @Test func sortsNamesAndShortensNumbers() throws {
    let text = try JSON(encoding: ["b": 2.0, "a": 1e-5, "c": .infinity, "d": .nan]).text
    #expect(text == #"{"a":1e-05,"b":2,"c":null,"d":null}"#)
    #expect(try JSON(encoding: "only").text == #""only""#)
    #expect(try JSON(encoding: [Int?.none, 1]).text == "[null,1]")
    #expect(try JSON(encoding: [[Int]]()).text == "[]")
  }

  /// Every part left out or of another type is an error.
  @Test(
    arguments: [
      "{}", "[]", "null", "3", #""text""#, #"{"text":3,"word":"first","list":[],"table":{}}"#,
      #"{"text":"","word":"third","list":[],"table":{}}"#,
      #"{"text":"","word":"first","list":{},"table":{}}"#,
      #"{"text":"","word":"first","list":["1"],"table":{}}"#,
      #"{"text":"","word":"first","list":[],"table":[]}"#,
      #"{"text":"","word":"first","list":[],"table":{"a":[1.5]}}"#,
      #"{"text":"","word":"first","list":[],"table":{"a":[9223372036854775808]}}"#,
      #"{"text":"","word":"first","list":[],"table":{"a":[true]}}"#,
    ]) func refuses(_ text: String) throws
  {
    let node = try JSONParser.parse(Array(text.utf8))
    #expect(throws: DecodingError.self) { try node.decode(Inner.self) }
  }
}
