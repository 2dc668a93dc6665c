import AttoATT
import TestSupport
import Testing

@testable import AttoFormats

@Suite(.sideBySide) struct TranscriptTests {
  static let example = """
    ## What the file is about.
    profile large-1.json

    # GAR/SR/BV-01-C  read a characteristic value
    > 0a 03 00        # Read Request
    < 0b 09
    > 0afffe
    < 01 0A ff ?? ...
    wait 30.1s

    # GAR/SR/BI-02-C
    profile folder with spaces/tiny.json  # another one
    security medium
    security high 7
    >
    < ...
    silence 200ms
    procedure read-long  0x0003 # begins
    <
    bond # without a key
    bond 000102030405060708090a0b0c0d0e0f
    client 2
    database add more services.json # there
    database remove 0x00a0
    notify 0x0003 0a0b 0x0004 - # two
    indicate 0x0004 -
    bearers 2 # of 64 octets
    >2  0a0300
    <2 0b ...
    close 1
    bearers 1 100
    >3
    reconnect
    \tdisconnect
    result dead

    """

  @Test func readsEachKindOfLine() throws {
    let transcript = try Transcript(text: Array(Self.example.utf8))
    #expect(
      transcript
        == Transcript(
          profile: "large-1.json",
          cases: [
            Transcript.Case(
              name: "GAR/SR/BV-01-C", title: "read a characteristic value",
              steps: [
                .init(.client([0x0A, 0x03, 0x00])), .init(.server(.init([0x0B, 0x09]))),
                .init(.client([0x0A, 0xFF, 0xFE])),
                .init(.server(.init([0x01, 0x0A, 0xFF, nil], isOpen: true))),
                .init(.wait(.milliseconds(30_100))),
              ]),
            Transcript.Case(
              name: "GAR/SR/BI-02-C", profile: "folder with spaces/tiny.json",
              steps: [
                .init(.security(LinkSecurity(.medium))),
                .init(.security(LinkSecurity(level: .high, keySize: 7))), .init(.client([])),
                .init(.server(.init([], isOpen: true))), .init(.silence(.milliseconds(200))),
                .init(.procedure(["read-long", "0x0003"])),
                .init(.server(.init([]))), .init(.bond(key: nil)),
                .init(.bond(key: Array(0...15))), .init(.turn(2)),
                .init(.database(.add("more services.json"))), .init(.database(.remove(0x00A0))),
                .init(.notify([.init(0x0003, [0x0A, 0x0B]), .init(0x0004, [])])),
                .init(.indicate(.init(0x0004, []))), .init(.bearers(count: 2, mtu: 64)),
                .init(.client([0x0A, 0x03, 0x00]), bearer: 2),
                .init(.server(.init([0x0B], isOpen: true)), bearer: 2), .init(.close(bearer: 1)),
                .init(.bearers(count: 1, mtu: 100)), .init(.client([]), bearer: 3),
                .init(.reconnect),
                .init(.disconnect), .init(.result(["dead"])),
              ]),
          ]))
    #expect(transcript.cases[0].steps.map(\.line) == [5, 6, 7, 8, 9])
    #expect(transcript.profile(of: transcript.cases[0]) == "large-1.json")
    #expect(transcript.profile(of: transcript.cases[1]) == "folder with spaces/tiny.json")
  }

  static let canonical = """
    profile large-1.json

    # GAR/SR/BV-01-C  read a characteristic value
    > 0a 03 00
    < 0b 09
    > 0a ff fe
    < 01 0a ff ?? ...
    wait 30.1s

    # GAR/SR/BI-02-C
    profile folder with spaces/tiny.json
    security medium
    security high 7
    >
    < ...
    silence 200ms
    procedure read-long 0x0003
    <
    bond
    bond 000102030405060708090a0b0c0d0e0f
    client 2
    database add more services.json
    database remove 0x00A0
    notify 0x0003 0a0b 0x0004 -
    indicate 0x0004 -
    bearers 2
    >2 0a 03 00
    <2 0b ...
    close 1
    bearers 1 100
    >3
    reconnect
    disconnect
    result dead

    """

  @Test func printsTheCanonicalText() throws {
    let transcript = try Transcript(text: Array(Self.example.utf8))
    #expect(transcript.description == Self.canonical)
    #expect(try Transcript(text: Array(Self.canonical.utf8)) == transcript)
  }

  @Test func readsWindowsLineEndings() throws {
    let windows = Self.canonical.replacing("\n", with: "\r\n")
    #expect(try Transcript(text: Array(windows.utf8)).description == Self.canonical)
  }

  @Test func anEmptyFileHasNoCases() throws {
    #expect(try Transcript(text: []) == Transcript())
    #expect(Transcript().description == "")
  }

  @Test func patternsMatch() {
    let closed = Transcript.Pattern([0x01, nil])
    #expect(closed.matches([0x01, 0x00]))
    #expect(!closed.matches([0x01]))
    #expect(!closed.matches([0x02, 0x00]))
    #expect(!closed.matches([0x01, 0x00, 0x00]))
    #expect(closed.bytes == nil)
    let open = Transcript.Pattern([0x01], isOpen: true)
    #expect(open.matches([0x01]))
    #expect(open.matches([0x01, 0x02, 0x03]))
    #expect(!open.matches([]))
    #expect(open.bytes == nil)
    #expect(Transcript.Pattern([0x01, 0x02]).bytes == [0x01, 0x02])
  }

  @Test(arguments: [
    ("30.1s", Duration.milliseconds(30_100), "30.1s"), ("200ms", .milliseconds(200), "200ms"),
    ("1500ms", .milliseconds(1500), "1.5s"), ("1.5us", .nanoseconds(1500), "1.5us"),
    ("0.000000001s", .nanoseconds(1), "0.001us"), ("86400s", .seconds(86_400), "86400s"),
    ("0ms", .zero, "0s"), ("007s", .seconds(7), "7s"), ("1.050s", .milliseconds(1050), "1.05s"),
  ]) func durations(_ text: String, _ duration: Duration, _ canonical: String) {
    #expect(TranscriptDuration.parse(text) == duration)
    #expect(TranscriptDuration.text(duration) == canonical)
    #expect(TranscriptDuration.parse(canonical) == duration)
  }

  @Test(arguments: [
    "", "s", "1", "1m", "-1s", "+1s", "1.s", ".5s", "1..2s", "1e3s", "0.0000000001s", "86401s",
    "9999999999999999s", "999999999999999s", "1 s", "١s",
  ]) func noDurations(_ text: String) {
    #expect(TranscriptDuration.parse(text) == nil)
  }

  @Test(arguments: [
    ("> 0a", ##"1:1: expected a heading "# NAME  title" before the first step, found ">""##),
    ("# A\n> 0g", #"2:3: expected pairs of hexadecimal digits, found "0g""#),
    ("# A\n> 0", #"2:3: expected pairs of hexadecimal digits, found "0""#),
    (
      "# A\n> 0a ??",
      #"2:6: expected pairs of hexadecimal digits (a client's PDUs are exact), found "??""#
    ),
    ("# A\n< 0a ?", #"2:6: expected pairs of hexadecimal digits, ?? or ..., found "?""#),
    ("# A\n< 0a ... 00", #"2:10: expected nothing after ..., found "00""#),
    ("# A\n>0a", #"2:1: expected a space between > and the octets, found ">0a""#),
    (
      "#A",
      "1:1: expected a space between # and the name of a case, or ## for a comment, found "
        + "\"#A\""
    ),
    ("#", "1:2: expected the name of a case, found the end of the line"),
    ("# A\n\n# A  again", #"3:3: expected each case once, found "A" again, first on line 1"#),
    (
      "# A\n wiat 1s",
      "2:2: expected one of #, >, <, profile, procedure, result, wait, silence, security, "
        + "database, notify, indicate, bond, client, bearers, close, reconnect, disconnect, "
        + #"found "wiat" (did you mean "wait"?)"#
    ),
    (
      "# A\nwait",
      "2:5: expected a duration such as 30.1s or 200ms, at most a day, found the end of the line"
    ),
    (
      "# A\nsilence 30",
      #"2:9: expected a duration such as 30.1s or 200ms, at most a day, found "30""#
    ),
    ("# A\nwait 1s 2s", #"2:9: expected the end of the line, found "2s""#),
    (
      "# A\nsecurity meduim",
      #"2:10: expected one of low, medium, high, fips, found "meduim" (did you mean "medium"?)"#
    ),
    ("# A\nsecurity high 6", #"2:15: expected a key size from 7 to 16 octets, found "6""#),
    (
      "# A\nsecurity low 16",
      #"2:14: expected no key size for an unencrypted link, found "16""#
    ),
    (
      "# A\ndisconnect\n> 0a",
      "3:1: expected reconnect, database, client, wait, result or a heading after disconnect, "
        + #"found ">""#
    ),
    (
      "# A\ndisconnect\nresult dead\n> 0a",
      "4:1: expected reconnect, database, client, wait, result or a heading after disconnect, "
        + #"found ">""#
    ),
    ("# A\nprocedure", "2:10: expected the name of a procedure, found the end of the line"),
    ("# A\nresult # x", "2:8: expected the result of a procedure, found the end of the line"),
    ("# A\nprofile", "2:8: expected the path of a profile, found the end of the line"),
    (
      "# A\ndatabase grow",
      "2:10: expected add and the path of a profile, or remove and a handle, found \"grow\""
    ),
    ("# A\ndatabase add", "2:13: expected the path of a profile, found the end of the line"),
    ("# A\ndatabase remove 16", #"2:17: expected a handle such as 0x002A, found "16""#),
    (
      "# A\nnotify 0x0003",
      "2:14: expected octets, or - for an empty value, found the end of the line"
    ),
    (
      "# A\nnotify 0x0003 0 # x",
      #"2:15: expected octets without spaces, or - for an empty value, found "0""#
    ),
    ("# A\nindicate 0x0003 00 01", #"2:20: expected the end of the line, found "01""#),
    ("# A\nbond 00", #"2:6: expected a key of 16 octets, found "00""#),
    ("# A\nclient 0", #"2:8: expected the number of a client, from 1 to 9, found "0""#),
    ("# A\nprofile # x", "2:9: expected the path of a profile, found the end of the line"),
    ("profile a\nprofile b", "2:9: expected one profile, found another"),
    ("# A\nprofile a\nprofile b", "3:9: expected one profile, found another"),
    (
      "# A\n> 0a\nprofile b",
      "3:9: expected the profile before the case's first step, found a profile after line 2"
    ),
    // A carriage return within a line once became part of the name and was lost in printing.
    ("# a\r ", "1:4: expected text without control characters, found the byte 0x0d"),
    ("# A\n> 0a \u{1B}[1m", "2:6: expected text without control characters, found the byte 0x1b"),
    ("# A\u{7F}\n", "1:4: expected text without control characters, found the byte 0x7f"),
    ("# é\n> 0ä", #"2:3: expected pairs of hexadecimal digits, found "0ä""#),
  ]) func namesPositionAndMistake(_ text: String, _ message: String) {
    let error = #expect(throws: TranscriptError.self) {
      try Transcript(text: Array(text.utf8), file: "t.att")
    }
    #expect(error?.description == "t.att:" + message)
  }

  static let bearerMistakes: [(text: String, message: String)] = [
    (
      "# A\n>2 0a",
      "2:1: expected a line \"bearers N\" that opens enhanced bearers, or a space between > and the "
        + "octets, found \">2\""
    ),
    (
      "# A\nbearers 2\nclose 1\nbearers 1\n <4 0a",
      "5:2: expected the number of an open bearer (2, 3), or a space between < and the octets, "
        + "found \"<4\""
    ),
    (
      "# A\nbearers 1\nreconnect\n>1 0a",
      "4:1: expected a line \"bearers N\" that opens enhanced bearers, or a space between > and the "
        + "octets, found \">1\""
    ),
    (
      "# A\nbearers 1\nclient 2\nclose 1",
      "4:7: expected a line \"bearers N\" that opens enhanced bearers, found \"1\""
    ),
    (
      "# A\nbearers 1\n# B\n>1 0a",
      "4:1: expected a line \"bearers N\" that opens enhanced bearers, or a space between > and the "
        + "octets, found \">1\""
    ),
    ("# A\n>01 0a", #"2:1: expected a space between > and the octets, found ">01""#),
    ("# A\nbearers 6", #"2:9: expected the number of bearers, from 1 to 5, found "6""#),
    ("# A\nbearers 1 63", #"2:11: expected an ATT_MTU from 64 to 65535, found "63""#),
    (
      "# A\ndisconnect\nbearers 1",
      "3:1: expected reconnect, database, client, wait, result or a "
        + #"heading after disconnect, found "bearers""#
    ),
    (
      "# A\n" + String(repeating: "bearers 5\n", count: 52),
      "53:1: expected at most 255 enhanced bearers on a link, found \"bearers\""
    ),
  ]

  @Test(arguments: bearerMistakes) func namesTheBearer(_ text: String, _ message: String) {
    let error = #expect(throws: TranscriptError.self) {
      try Transcript(text: Array(text.utf8), file: "t.att")
    }
    #expect(error?.description == "t.att:" + message)
  }

  @Test func refusesTextBeyondTheLimits() {
    func found(_ text: [UInt8]) -> String? {
      #expect(throws: TranscriptError.self) { try Transcript(text: text) }?.description
    }
    let long = Array("# A\n> ".utf8) + Array(String(repeating: "00", count: 4097).utf8)
    #expect(found(long) == "transcript:2:3: expected at most 4096 octets, found 4097")
    #expect(
      found([UInt8](repeating: 0x0A, count: 100_000))
        == "transcript:100001:1: expected at most 100000 lines, found another")
    #expect(
      found([UInt8](repeating: 0x20, count: 4_194_305))
        == "transcript:1:1: expected at most 4194304 bytes, found 4194305")
    #expect(
      found(Array("# A\n# ".utf8) + [0xFF])
        == "transcript:2:3: expected UTF-8 text, found the byte 0xff")
  }

  @Test func namesTheReasonForAnUnreadableFile() {
    let error = #expect(throws: TranscriptError.self) {
      try Transcript(contentsOfFile: "/nowhere/t.att")
    }
    #expect(
      error?.description == "cannot read /nowhere/t.att: No such file or directory")
  }
}
