import Testing

@testable import Files

/// What cannot be laid out, and the whole text of its message.
@Suite struct LayoutMistakeTests {
  typealias Mistake = ProfileMistakeTests.Mistake

  /// A profile of these services, without the automatic ones. The services begin in column 1
  /// of line 2.
  static func services(_ list: String) -> String {
    "{\"automatic\": false, \"services\": [\n\(list)]}"
  }

  static func characteristics(_ list: String) -> String {
    services(#"{"uuid": "180D", "characteristics": [\#n\#(list)]}"#)
  }

  static let handles = [
    Mistake(
      services(#"{"uuid": "180D", "handle": "0x0010"}, {"uuid": "180F", "handle": "0x0010"}"#),
      "2:66: services[1].handle: expected a handle from 0x0011 on, found 0x0010, which "
        + "services[0] has"),
    Mistake(
      services(#"{"uuid": "180D", "handle": "0x0010"}, {"uuid": "180F", "handle": "0x0005"}"#),
      "2:66: services[1].handle: expected a handle from 0x0011 on, found 0x0005, out of order"),
    Mistake(
      services(
        #"{"uuid": "180D", "handle": "0x0010", "endHandle": "0x0020"}, {"uuid": "1", "handle": "0x0018"}"#
      ).replacing("\"1\"", with: "\"180F\""),
      "2:89: services[1].handle: expected a handle from 0x0021 on, found 0x0018, out of order"),
    Mistake(
      services(#"{"uuid": "180D", "handle": "0x0010", "endHandle": "0x000F"}"#),
      "2:51: services[0].endHandle: expected the declaration's handle 0x0010 or one after it, "
        + "found 0x000F"),
    Mistake(
      services(
        #"{"uuid": "180D", "endHandle": "0x0002", "characteristics": [{"uuid": "2A37"}]}"#),
      "2:61: services[0].characteristics[0]: expected handles up to the endHandle 0x0002, "
        + "found one more attribute after 0x0002"),
    Mistake(
      services(
        #"{"uuid": "180D", "endHandle": "0x0009", "characteristics": [{"uuid": "2A37", "valueHandle": "0x000A"}]}"#
      ),
      "2:93: services[0].characteristics[0].valueHandle: expected handles up to the endHandle "
        + "0x0009, found 0x000A"),
    Mistake(
      services(#"{"uuid": "180D", "handle": "0xFFFF", "characteristics": [{"uuid": "2A37"}]}"#),
      "2:58: services[0].characteristics[0]: expected handles up to 0xFFFF, found one more "
        + "attribute after 0xFFFF"),
    Mistake(
      services(#"{"uuid": "180D", "handle": "0xFFFF"}, {"uuid": "180D", "handle": "0x0001"}"#),
      "2:66: services[1].handle: expected nothing after 0xFFFF, found 0x0001, out of order"),
    Mistake(
      characteristics(#"{"uuid": "2A37", "valueHandle": "0x0002"}"#),
      "3:33: services[0].characteristics[0].valueHandle: expected a handle from 0x0003 on, found "
        + "0x0002, which services[0].characteristics[0] has"),
    Mistake(
      characteristics(
        #"{"uuid": "2A37", "descriptors": [{"uuid": "2901"}, {"uuid": "2904", "handle": "0x0004"}]}"#
      ),
      "3:79: services[0].characteristics[0].descriptors[1].handle: expected a handle from 0x0005 "
        + "on, found 0x0004, which services[0].characteristics[0].descriptors[0] has"),
    Mistake(
      #"{"services": [{"uuid": "180D", "handle": "0x0001", "endHandle": "0xFFFF"}]}"#,
      "1:1: automatic: expected 15 free handles for the GAP and GATT services after the last "
        + #"service, or "automatic": false, found 0"#),
  ]

  static let targets = [
    Mistake(
      services(#"{"uuid": "180D", "includes": ["180F"]}"#),
      "2:31: services[0].includes[0]: expected a service of this profile, found 180F, which none "
        + "has"),
    Mistake(
      services(#"{"uuid": "180D", "includes": [{"service": "0x0007"}]}"#),
      "2:31: services[0].includes[0]: expected a service of this profile, found 0x0007, which "
        + "none has"),
    Mistake(
      services(#"{"uuid": "180D", "includes": ["180F"]}, {"uuid": "180F"}, {"uuid": "180F"}"#),
      "2:31: services[0].includes[0]: expected one service only, found 180F, which 2 have: name "
        + "it by a handle such as 0x0003"),
    Mistake(
      services(#"{"uuid": "180D", "includes": [true]}"#),
      "2:31: services[0].includes[0]: expected the handle of a service (\"0x0001\") or its UUID "
        + #"("180A"), found true"#),
    Mistake(
      services(#"{"uuid": "180D", "includes": ["0x001G"]}"#),
      "2:31: services[0].includes[0]: expected a handle from \"0x0001\" to \"0xFFFF\", found "
        + #""0x001G""#),
    Mistake(
      characteristics(
        #"{"uuid": "2A37", "properties": ["write"], "behaviour": {"echoTo": "2A38"}}"#),
      "3:67: services[0].characteristics[0].behaviour.echoTo: expected a characteristic of this "
        + "profile, found 2A38, which none has"),
    Mistake(
      characteristics(
        #"{"uuid": "2A37", "properties": ["write"], "behaviour": {"echoTo": "2A37"}}"#),
      "3:67: services[0].characteristics[0].behaviour.echoTo: expected a characteristic that "
        + "notifies or indicates, found one that does not"),
  ]

  static let contradictions = [
    Mistake(
      characteristics(#"{"uuid": "2A37", "properties": ["read"], "cccd": true}"#),
      "3:50: services[0].characteristics[0].cccd: expected the property notify or indicate beside "
        + "it, found true"),
    Mistake(
      characteristics(#"{"uuid": "2A37", "cccd": false, "descriptors": [{"uuid": "2902"}]}"#),
      "3:26: services[0].characteristics[0].cccd: expected no descriptor 2902 beside it, found "
        + "false"),
    Mistake(
      characteristics(#"{"uuid": "2803"}"#),
      "3:10: services[0].characteristics[0].uuid: expected a UUID other than those of "
        + "declarations, 2800 to 2803, found 2803"),
    Mistake(
      characteristics(#"{"uuid": "2A37", "descriptors": [{"uuid": "2800"}]}"#),
      "3:43: services[0].characteristics[0].descriptors[0].uuid: expected a UUID other than those "
        + "of declarations, 2800 to 2803, found 2800"),
    Mistake(
      characteristics(#"{"uuid": "2A37", "descriptors": [{"uuid": "2902"}, {"uuid": "2902"}]}"#),
      "3:61: services[0].characteristics[0].descriptors[1].uuid: expected one descriptor 2902 in a "
        + "characteristic, found a second one"),
    Mistake(
      characteristics(
        #"{"uuid": "2A37", "descriptors": [{"uuid": "2902", "value": "hex:0100"}]}"#),
      "3:60: services[0].characteristics[0].descriptors[0].value: expected no value: each client "
        + "has its own, which starts at 0000, found 0100"),
    Mistake(
      characteristics(
        #"{"uuid": "2A37", "properties": ["reliableWrite"], "descriptors": [{"uuid": "2900", "value": "hex:0200"}]}"#
      ),
      "3:93: services[0].characteristics[0].descriptors[0].value: expected hex:0100, as the "
        + "characteristic's properties say, found 0200"),
  ]

  static func behaviour(_ properties: String, _ keys: String) -> String {
    characteristics(#"{"behaviour": {\#(keys)}, "uuid": "2A37", "properties": [\#(properties)]}"#)
  }

  static let behaviours = [
    Mistake(
      behaviour("", #""notifyEveryMilliseconds": 5"#),
      "3:43: B.notifyEveryMilliseconds: expected the property notify on the characteristic, "
        + "found none"),
    Mistake(
      behaviour(#""notify""#, #""indicateEveryMilliseconds": 5"#),
      "3:45: B.indicateEveryMilliseconds: expected the property indicate on the characteristic, "
        + "found none"),
    Mistake(
      behaviour(#""notify""#, #""notifyEveryMilliseconds": 0"#),
      "3:43: B.notifyEveryMilliseconds: expected a whole number of milliseconds from 1 to "
        + "86400000, found the number 0"),
    Mistake(
      behaviour(#""read""#, #""readError": "0x00""#),
      "3:29: B.readError: expected an error code from \"0x01\" to \"0xFF\", found \"0x00\""),
    Mistake(
      behaviour("", #""readError": "0x80""#),
      "3:29: B.readError: expected a characteristic that can be read, found one without read "
        + "among its permissions"),
    Mistake(
      behaviour(#""read""#, #""tally": true"#),
      "3:25: B.tally: expected a characteristic that can be written, found one without write "
        + "among its permissions"
    ),
    Mistake(
      behaviour(#""write""#, #""tally": true"#),
      "3:25: B.tally: expected a characteristic that can be read, found one without read "
        + "among its permissions"
    ),
    Mistake(
      behaviour(#""read""#, #""stream": {"size": 4}"#),
      "3:26: B.stream: expected the property notify or indicate on the characteristic, found none"
    ),
    Mistake(
      behaviour(#""notify""#, #""stream": {"size": 3}"#),
      "3:35: B.stream.size: expected a whole number from 4 to 512, found the number 3"
    ),
    Mistake(
      behaviour(#""read""#, #""sink": true"#),
      "3:24: B.sink: expected a characteristic that can be written, found one without write "
        + "among its permissions"
    ),
    Mistake(
      behaviour(#""read""#, #""counter": 4"#),
      "3:27: B.counter: expected 1 to 8 octets that the value has room for, found 4 in a value "
        + "of 0"),
    Mistake(
      behaviour(#""write""#, #""burst": {"count": 1, "size": 4, "on": "write"}"#),
      "3:25: B.burst: expected the property notify on the characteristic, found none"),
    Mistake(
      behaviour(#""notify""#, #""burst": {"count": 1, "size": 4, "on": "write"}"#),
      "3:25: B.burst: expected a characteristic that can be written, found one without write "
        + "among its permissions"),
    Mistake(
      behaviour(#""notify""#, #""burst": {"count": 1, "size": 3, "on": "write"}"#),
      "3:46: B.burst.size: expected a whole number from 4 to 512, found the number 3"),
    Mistake(
      behaviour(#""notify""#, #""burst": {"count": 1, "size": 4, "on": "subscribed"}"#),
      "3:55: B.burst.on: expected one of subscribe, write, found \"subscribed\" (did you mean "
        + #""subscribe"?)"#),
    Mistake(
      behaviour("", #""delay": 5"#),
      "3:25: B.delay: expected one of the keys notifyEveryMilliseconds, "
        + "indicateEveryMilliseconds, readError, writeError, delayMilliseconds, echoTo, counter, "
        + #"sink, tally, burst, stream, found "delay""#),
  ].map {
    Mistake(
      $0.json, $0.message.replacing(" B.", with: " services[0].characteristics[0].behaviour."))
  }

  @Test(arguments: handles + targets + contradictions + behaviours) func saysWhereAndWhat(
    _ mistake: Mistake
  ) {
    #expect(ProfileMistakeTests.message(mistake.json) == "p.json:" + mistake.message)
  }

  @Test func aProfileWithoutATextHasNoPlace() {
    var profile = Profile(addsAutomaticServices: false, services: [Profile.Service(uuid: 0x180D)])
    profile.services[0].characteristics = [Profile.Characteristic(uuid: 0x2A37)]
    profile.services[0].characteristics[0].value.keySize = 6
    let error = #expect(throws: ProfileError.self) { try profile.layout() }
    #expect(error?.position == nil)
    #expect(
      error?.description
        == "profile: services[0].characteristics[0].keySize: expected 7 to 16 octets, found 6")
  }
}
