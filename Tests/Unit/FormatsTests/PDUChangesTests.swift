import AttoATT
import AttoText
import TestSupport
import Testing

@testable import AttoFormats

/// Rules for what a relay changes.
@Suite(.sideBySide) struct PDUChangesTests {
  private func rules(_ text: String) throws -> ChangeTurns {
    ChangeTurns(try PDUChanges(text: Array(text.utf8)))
  }

  @Test func eachAction() throws {
    var turns = try rules(
      """
      # A comment, and a blank line.

      > 12 0300 ... : drop   # the rest of the line
      > 0a 0300 : error 05
      > 0a 0400 : answer 0b 4142
      < 1b 03 00 ?? 01 ... : replace 1b 0300 ff ?? ...
      < 1b ... : repeat 3
      < 1d ... : delay 200ms
      mtu 23
      """)
    func change(_ pdu: [UInt8], _ isFromClient: Bool) -> ChangedPDU? {
      turns.change(pdu, isFromClient: isFromClient)
    }
    #expect(change([0x12, 3, 0, 7], true)?.passed == [])
    #expect(change([0x12, 3, 0, 7], false) == nil)
    #expect(change([0x12, 4, 0, 7], true) == nil)
    #expect(change([0x0A, 3, 0], true)?.answer == [1, 0x0A, 3, 0, 5])
    #expect(change([0x0A, 4, 0], true)?.answer == [0x0B, 0x41, 0x42])
    #expect(change([0x1B, 3, 0, 9, 1, 2], false)?.passed == [[0x1B, 3, 0, 0xFF, 1, 2]])
    // Already as the rule wants it.
    #expect(change([0x1B, 3, 0, 0xFF, 1], false) == nil)
    #expect(change([0x1B, 9], false)?.passed == [[0x1B, 9], [0x1B, 9], [0x1B, 9]])
    let delayed = try #require(change([0x1D, 9], false))
    #expect(delayed.delay == .milliseconds(200) && delayed.passed == [[0x1D, 9]])
    #expect(delayed.line == 8)
    for isFromClient in [true, false] {
      for opcode: UInt8 in [2, 3] {
        #expect(change([opcode, 0xF7, 1], isFromClient)?.passed == [[opcode, 23, 0]])
        #expect(change([opcode, 23, 0], isFromClient) == nil)
        #expect(change([opcode, 23], isFromClient) == nil)
      }
    }
  }

  /// An Error Response is for requests only, and names the handle that the request names.
  @Test func errors() throws {
    var turns = try rules("> ... : error 0x80")
    for opcode in UInt8.min...UInt8.max {
      let answer = turns.change([opcode, 1, 2, 3], isFromClient: true)?.answer
      // An opcode that is not defined gets an error too, unless it is a command's.
      let others: [UInt8] = [
        0x01, 0x03, 0x05, 0x07, 0x09, 0x0B, 0x0D, 0x0F, 0x11, 0x13, 0x17, 0x19, 0x1B, 0x1D, 0x1E,
        0x21, 0x23,
      ]
      let isRequest = opcode & 0x40 == 0 && !others.contains(opcode)
      let handle: [UInt8] = opcode == 2 ? [0, 0] : [1, 2]
      #expect(answer == (isRequest ? [1, opcode] + handle + [0x80] : nil), "\(opcode)")
    }
    #expect(turns.change([0x18, 1], isFromClient: true)?.answer == [1, 0x18, 0, 0, 0x80])
    #expect(turns.change([], isFromClient: true) == nil)
  }

  @Test func turnsOfEachKind() throws {
    func places(_ when: String) throws -> [Int] {
      var turns = try rules("> 0a ... : \(when) drop")
      return (1...9).filter { _ in turns.change([0x0A], isFromClient: true) != nil }
    }
    #expect(try places("") == Array(1...9))
    #expect(try places("once") == [1])
    #expect(try places("after 6") == [7, 8, 9])
    #expect(try places("every 4") == [4, 8])
    // Where it is not a rule's turn, a later one decides; each counts all that match.
    var turns = try rules("> 0a : every 2 drop\n> 0a : every 3 repeat 2")
    let texts = (1...6).map { _ in turns.change([0x0A], isFromClient: true)?.text ?? "-" }
    #expect(texts == ["-", "dropped", "passed 2 times", "dropped", "-", "dropped"])
  }

  @Test(arguments: [
    ("x 0a : drop", "1:1", "> or <, or mtu"), ("> 0g : drop", "1:3", "hexadecimal digits"),
    ("> 0a", "1:5", ":"), ("> 0a :", "1:7", "drop, delay"), ("> 0a : dorp", "1:8", "drop, delay"),
    ("> 0a : once", "1:12", "drop, delay"), ("> 0a : every 0 drop", "1:14", "a number from 1"),
    ("> 0a : repeat 1", "1:15", "a number from 2"), ("> 0a : repeat 101", "1:15", "to 100"),
    ("> 0a : delay 2", "1:14", "a duration"), ("> 0a : error 100", "1:14", "an error code"),
    ("> 0a : answer ??", "1:15", "pairs of hexadecimal"), ("> 0a : drop it", "1:13", "the end"),
    ("\n\nmtu 65536", "3:5", "an ATT_MTU"), ("mtu 23 24", "1:8", "the end"),
    ("> ... 0a : drop", "1:7", "nothing after ..."),
  ])
  func mistakes(_ text: String, _ place: String, _ expected: String) throws {
    let mistake = try #require(throws: TranscriptError.self) {
      try PDUChanges(text: Array(text.utf8), file: "rules")
    }
    #expect(mistake.description.hasPrefix("rules:\(place): "), "\(mistake)")
    #expect(mistake.expected.contains(expected), "\(mistake)")
  }

  @Test func limits() throws {
    let rule = "> 0a : drop\n"
    let most = String(repeating: rule, count: PDUChanges.ruleLimit)
    #expect(try PDUChanges(text: Array(most.utf8)).rules.count == PDUChanges.ruleLimit)
    #expect(throws: TranscriptError.self) { try PDUChanges(text: Array((most + rule).utf8)) }
    #expect(throws: TranscriptError.self) { try PDUChanges(contentsOfFile: "/dev/zero") }
    #expect(throws: TranscriptError.self) { try PDUChanges(contentsOfFile: "/nowhere") }
  }

  /// No rules trap, right or with a mistake, and what they make of a PDU stays within the limits.
  @Test func randomRules() {
    let seed = UInt64.random(in: 0 ... .max)
    var random = SplitMix64(seed: seed)
    func pick<Value>(_ values: [Value]) -> Value {
      values[Int.random(in: values.indices, using: &random)]
    }
    var readable = 0
    for _ in 0..<3000 {
      let lines = (0..<3).map { _ in
        let head = [
          pick([">", "<"]), pick(["", "0a", "02", "??"]), pick(["", "0300", "?? ??"]),
          pick(["", "..."]), ":", pick(["", "", "once", "after 2", "every 2"]),
        ]
        let action = pick([
          "drop", "delay 1s", "replace", "replace ?? ?? ?? ...", "replace 0b ??", "repeat 100",
          "answer", "answer 0b", "error 05", "error", "mtu 23", "drop drop",
        ])
        return (head + [action]).joined(separator: " ")
      }
      let text = (lines + [pick(["", "mtu 0", "mtu 65535"])]).joined(separator: "\n")
      guard let changes = try? PDUChanges(text: Array(text.utf8)) else { continue }
      readable += 1
      var turns = ChangeTurns(changes)
      for count in 0..<6 {
        let pdu = (0..<count).map { _ in pick([0x0A, 2, 3, 0, 0x1B] as [UInt8]) }
        let changed = turns.change(pdu, isFromClient: pick([true, false]))
        #expect((changed?.passed.count ?? 0) <= PDUChanges.repeatLimit, "seed \(seed): \(text)")
      }
    }
    #expect(readable > 500, "seed \(seed)")
  }
}
