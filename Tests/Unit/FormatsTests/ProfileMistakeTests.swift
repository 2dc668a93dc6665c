import AttoText
import TestSupport
import Testing

@testable import AttoFormats

/// Each kind of mistake, with the complete message.
@Suite(.sideBySide) struct ProfileMistakeTests {
  struct Mistake: CustomTestStringConvertible {
    var json: String
    var message: String
    var testDescription: String { message }

    init(_ json: String, _ message: String) {
      self.json = json
      self.message = message
    }
  }

  static func message(_ json: String) -> String {
    do throws(ProfileError) {
      _ = try Profile(json: Array(json.utf8), file: "p.json")
      return "no mistake"
    } catch {
      return error.description
    }
  }

  /// A profile of one service with a UUID and these keys.
  static func service(_ rest: String) -> String {
    #"{"automatic": false, "services": [{"uuid": "180D", \#(rest)}]}"#
  }

  /// A profile of one characteristic with a UUID and these keys.
  static func characteristic(_ rest: String) -> String {
    service(#""characteristics": [{"uuid": "2A37", \#(rest)}]"#)
  }

  static let syntax = [
    Mistake("", #"p.json:1:1: expected a JSON value, found the end of the file"#),
    Mistake("{\n \"services\": [}", #"p.json:2:15: expected a JSON value, found "}""#),
    Mistake("{\n \"services\" []}", #"p.json:2:13: expected ":", found "[""#),
    Mistake(#"{"services": []} x"#, #"p.json:1:18: expected the end of the file, found "x""#),
    Mistake(#"{"services": [],}"#, #"p.json:1:17: expected a key in quotes, found "}""#),
    Mistake(#"{"services": [1 2]}"#, #"p.json:1:17: expected "," or "]", found "2""#),
    Mistake(#"{"é": 1, "b" 2}"#, #"p.json:1:14: expected ":", found "2""#),
    Mistake(
      #"{"name": "a", "name": "b"}"#,
      #"p.json:1:15: expected each key once, found "name" again"#),
    Mistake(
      #"{"name": "a\x"}"#, #"p.json:1:13: expected one of "\/bfnrtu after a backslash, found "x""#),
    Mistake(
      #"{"name": "a\ud800"}"#,
      #"p.json:1:18: expected the second half of a surrogate pair, found """"#),
    Mistake("{\"name\": \"a\n\"}", #"p.json:1:12: expected an escaped character, found "\n""#),
    Mistake(#"{"name": "a"#, "p.json:1:12: expected a closing quote, found the end of the file"),
    Mistake(#"{"mtu": -}"#, #"p.json:1:10: expected a digit, found "}""#),
    Mistake(#"{"mtu": 01}"#, #"p.json:1:10: expected "," or "}", found "1""#),
    Mistake(
      String(repeating: "[", count: 33),
      "p.json:1:33: expected at most 32 levels of lists and objects, found a deeper one"),
  ]

  static let shape = [
    Mistake("[]", "p.json:1:1: expected an object, found a list"),
    Mistake("{}", #"p.json:1:1: expected the key "services", a list, found none"#),
    Mistake(#"{"services": {}}"#, "p.json:1:14: services: expected a list, found an object"),
    Mistake(
      #"{"servces": []}"#,
      "p.json:1:13: servces: expected one of the keys name, mtu, automatic, advertising, "
        + #"services, found "servces" (did you mean "services"?)"#),
    Mistake(
      #"{"services": [], "x y": 1}"#,
      #"p.json:1:25: ["x y"]: expected one of the keys name, mtu, automatic, advertising, "#
        + #"services, found "x y""#),
    Mistake(
      #"{"services": [], "mtu": 22}"#,
      "p.json:1:25: mtu: expected a whole number from 23 to 65535, found the number 22"),
    Mistake(
      #"{"services": [], "mtu": 1e3}"#,
      "p.json:1:25: mtu: expected a whole number from 23 to 65535, found the number 1e3"),
    Mistake(
      #"{"services": [], "mtu": null}"#,
      "p.json:1:25: mtu: expected a whole number from 23 to 65535, found null"),
    Mistake(
      #"{"services": [], "automatic": "no"}"#,
      #"p.json:1:31: automatic: expected true or false, found "no""#),
    Mistake(
      #"{"services": [], "comment": 1}"#,
      "p.json:1:29: comment: expected a text, found the number 1"),
    Mistake(
      #"{"services": [], "name": "\#(String(repeating: "é", count: 125))"}"#,
      "p.json:1:26: name: expected at most 248 octets, found 250 octets"),
    Mistake(
      #"{"services": [{}]}"#,
      #"p.json:1:15: services[0]: expected the key "uuid", the service's UUID, found none"#),
    Mistake(
      #"{"services": [{"uuid": "18OD"}]}"#,
      "p.json:1:24: services[0].uuid: expected a UUID such as \"180D\" or "
        + #""6e400001-b5a3-f393-e0a9-e50e24dcca9e", found "18OD""#),
    Mistake(
      service(#""handle": 16"#),
      "p.json:1:62: services[0].handle: expected a handle from \"0x0001\" to \"0xFFFF\", "
        + "found the number 16"),
    Mistake(
      service(#""handle": "0x0000""#),
      "p.json:1:62: services[0].handle: expected a handle from \"0x0001\" to \"0xFFFF\", "
        + #"found "0x0000""#),
    Mistake(
      service(#""handle": "0x10000""#),
      "p.json:1:62: services[0].handle: expected a handle from \"0x0001\" to \"0xFFFF\", "
        + #"found "0x10000""#),
  ]

  static let advertising = [
    Mistake(
      #"{"services": [], "advertising": {"serviceUUIDs": ["180D", "180d"]}}"#,
      "p.json:1:59: advertising.serviceUUIDs[1]: expected each UUID once, "
        + "found 180D again"),
    Mistake(
      #"{"services": [], "advertising": {"manufacturerData": {"59": "hex:00"}}}"#,
      #"p.json:1:61: advertising.manufacturerData.59: expected a company identifier such as "#
        + #""0x0059", found "59""#),
    Mistake(
      #"{"services": [], "advertising": {"serviceData": {"180F": "64"}}}"#,
      #"p.json:1:58: advertising.serviceData.180F: expected "hex:…", "text:…", "base64:…" or "#
        + #"{"repeat": "31", "count": 512}, found "64""#),
    Mistake(
      #"{"services": [], "advertising": {"interval": 5}}"#,
      "p.json:1:46: advertising.interval: expected a whole number of milliseconds from 20 to "
        + "10240, found the number 5"),
    Mistake(
      #"{"services": [], "advertising": {"txPower": 200}}"#,
      "p.json:1:45: advertising.txPower: expected a whole number of dBm from -127 to 127, "
        + "found the number 200"),
  ]

  static let forms = #""hex:…", "text:…", "base64:…" or {"repeat": "31", "count": 512}"#
  static let value = "services[0].characteristics[0].value"

  static let values = [
    Mistake(
      characteristic(#""value": "0048""#), #"1:98: \#(value): expected \#(forms), found "0048""#),
    Mistake(
      characteristic(#""value": "hexx:00""#),
      #"1:98: \#(value): expected \#(forms), found "hexx:00" (did you mean "hex:"?)"#),
    Mistake(
      characteristic(#""value": "hex:0 0""#),
      #"1:98: \#(value): expected pairs of hexadecimal digits after "hex:", found "hex:0 0""#),
    Mistake(
      characteristic(#""value": "base64:AAA""#),
      #"1:98: \#(value): expected padded base64 after "base64:", found "base64:AAA""#),
    Mistake(
      characteristic(#""value": {"repeat": "31", "count": 513}"#),
      "1:124: \(value).count: expected a whole number from 0 to 512, found the number 513"),
    Mistake(
      characteristic(#""value": {"repeat": "3132", "count": 257}"#),
      "1:98: \(value): expected at most 512 octets, found 514 octets"),
    Mistake(
      characteristic(#""value": {"repeat": "", "count": 2}"#),
      #"1:109: \#(value).repeat: expected 1 to 512 octets in hexadecimal, found """#),
    Mistake(
      characteristic(#""value": "hex:\#(String(repeating: "00", count: 513))""#),
      "1:98: \(value): expected at most 512 octets, found 513 octets"),
    Mistake(
      characteristic(#""value": "hex:000102", "maxLength": 2"#),
      "1:98: \(value): expected at most 2 octets (maxLength), found 3 octets"),
    Mistake(
      characteristic(#""maxLength": 513"#),
      "1:102: services[0].characteristics[0].maxLength: expected a whole number from 0 to 512, "
        + "found the number 513"),
    Mistake(
      characteristic(#""value": "hex:0001", "maxLength": 3, "fixedLength": true"#),
      "1:141: services[0].characteristics[0].fixedLength: expected a value of 3 octets (maxLength), "
        + "found 2 octets"),
    Mistake(
      characteristic(#""permissions": ["read"], "keySize": 16"#),
      "1:125: services[0].characteristics[0].keySize: expected a permission that requires "
        + "encryption, found none"),
    Mistake(
      characteristic(#""permissions": ["readEncryped"]"#),
      "1:105: services[0].characteristics[0].permissions[0]: expected one of read, write, "
        + "readEncrypted, writeEncrypted, readAuthenticated, writeAuthenticated, readSecure, "
        + "writeSecure, readAuthorized, writeAuthorized, found \"readEncryped\" (did you mean "
        + #""readEncrypted"?)"#),
    Mistake(
      characteristic(#""permissions": ["read", "read"]"#),
      "1:113: services[0].characteristics[0].permissions[1]: expected each word once, found "
        + #""read" again"#),
    Mistake(
      characteristic(#""properties": ["writable"]"#),
      "1:104: services[0].characteristics[0].properties[0]: expected one of broadcast, read, "
        + "writeWithoutResponse, write, notify, indicate, authenticatedSignedWrites, "
        + "extendedProperties, reliableWrite, writableAuxiliaries, found \"writable\""),
  ].map { Mistake($0.json, "p.json:" + $0.message) }

  @Test(arguments: syntax + shape + advertising + values) func namesPositionAndMistake(
    _ mistake: Mistake
  ) {
    #expect(Self.message(mistake.json) == mistake.message)
  }

  @Test func refusesWhatIsNoUTF8() {
    let error = #expect(throws: ProfileError.self) {
      try Profile(json: Array("{\"name\":\n\"".utf8) + [0xC3, 0x28], file: "p.json")
    }
    #expect(error?.description == "p.json:2:2: expected UTF-8 text, found the byte 0xc3")
  }

  @Test func refusesMoreThanFourMebibytes() {
    let error = #expect(throws: ProfileError.self) {
      try Profile(json: [UInt8](repeating: 0x20, count: 4_194_305))
    }
    #expect(error?.description == "profile:1:1: expected at most 4194304 bytes, found 4194305")
  }

  @Test func namesTheReasonForAnUnreadableFile() {
    let error = #expect(throws: ProfileError.self) {
      try Profile(contentsOfFile: "/nowhere/p.json")
    }
    #expect(
      error?.description == "cannot read /nowhere/p.json: No such file or directory")
    let endless = #expect(throws: ProfileError.self) { try Profile(contentsOfFile: "/dev/zero") }
    #expect(endless?.description == "cannot read /dev/zero: larger than 4194304 bytes")
    let folder = #expect(throws: ProfileError.self) { try Profile(contentsOfFile: "/") }
    #expect(folder?.description == "cannot read /: Is a directory")
  }
}
