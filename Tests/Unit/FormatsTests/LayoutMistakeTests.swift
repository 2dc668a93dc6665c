import TestSupport
import Testing

@testable import AttoFormats

/// Profiles whose handles cannot be assigned, with the complete message.
@Suite(.sideBySide) struct LayoutMistakeTests {
  typealias Mistake = ProfileMistakeTests.Mistake

  /// A profile of these services, without the automatic ones. The services start in column 1 of
  /// line 2.
  static func services(_ list: String) -> String {
    "{\"automatic\": false, \"services\": [\n\(list)]}"
  }

  static func characteristics(_ list: String) -> String {
    services(#"{"uuid": "180D", "characteristics": [\#n\#(list)]}"#)
  }

  static let handles = [
    Mistake(
      services(#"{"uuid": "180D", "handle": "0x0010"}, {"uuid": "180F", "handle": "0x0010"}"#),
      "2:66: services[1].handle: expected a handle from 0x0011 on, found 0x0010, in use "
        + "by services[0]"),
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
        + "0x0002, in use by services[0].characteristics[0]"),
    Mistake(
      characteristics(
        #"{"uuid": "2A37", "descriptors": [{"uuid": "2901"}, {"uuid": "2904", "handle": "0x0004"}]}"#
      ),
      "3:79: services[0].characteristics[0].descriptors[1].handle: expected a handle from 0x0005 "
        + "on, found 0x0004, in use by services[0].characteristics[0].descriptors[0]"),
    Mistake(
      #"{"services": [{"uuid": "180D", "handle": "0x0001", "endHandle": "0xFFFF"}]}"#,
      "1:1: automatic: expected 15 free handles for the GAP and GATT services after the last "
        + #"service, or "automatic": false, found 0"#),
  ]

  static let targets = [
    Mistake(
      services(#"{"uuid": "180D", "includes": ["180F"]}"#),
      "2:31: services[0].includes[0]: expected a service of this profile, found 180F"),
    Mistake(
      services(#"{"uuid": "180D", "includes": [{"service": "0x0007"}]}"#),
      "2:31: services[0].includes[0]: expected a service of this profile, found 0x0007"),
    Mistake(
      services(#"{"uuid": "180D", "includes": ["180F"]}, {"uuid": "180F"}, {"uuid": "180F"}"#),
      "2:31: services[0].includes[0]: expected a unique service, found 180F, the UUID of 2 (use a "
        + "handle such as 0x0003)"),
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
        + "profile, found 2A38"),
    Mistake(
      characteristics(
        #"{"uuid": "2A37", "properties": ["write"], "behaviour": {"echoTo": "2A37"}}"#),
      "3:67: services[0].characteristics[0].behaviour.echoTo: expected a characteristic that "
        + "notifies or indicates, found one that does not"),
  ]

  static let contradictions = [
    Mistake(
      characteristics(#"{"uuid": "2A37", "properties": ["read"], "cccd": true}"#),
      "3:50: services[0].characteristics[0].cccd: expected the property notify or indicate for "
        + "a CCCD, found \"cccd\": true"),
    Mistake(
      characteristics(#"{"uuid": "2A37", "cccd": false, "descriptors": [{"uuid": "2902"}]}"#),
      "3:26: services[0].characteristics[0].cccd: expected no CCCD in \"descriptors\", found "
        + "\"cccd\": false"),
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
        + "characteristic, found another"),
    Mistake(
      characteristics(
        #"{"uuid": "2A37", "descriptors": [{"uuid": "2902", "value": "hex:0100"}]}"#),
      "3:60: services[0].characteristics[0].descriptors[0].value: expected no value, because "
        + "each client has its own, initially 0000, found 0100"),
    Mistake(
      characteristics(
        #"{"uuid": "2A37", "properties": ["reliableWrite"], "descriptors": [{"uuid": "2900", "value": "hex:0200"}]}"#
      ),
      "3:93: services[0].characteristics[0].descriptors[0].value: expected hex:0100, as in the "
        + "characteristic's properties, found 0200"),
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
      "3:29: B.readError: expected a readable characteristic, found no read permission"),
    Mistake(
      behaviour(#""read""#, #""tally": true"#),
      "3:25: B.tally: expected a writable characteristic, found no write permission"
    ),
    Mistake(
      behaviour(#""write""#, #""tally": true"#),
      "3:25: B.tally: expected a readable characteristic, found no read permission"
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
      "3:24: B.sink: expected a writable characteristic, found no write permission"
    ),
    Mistake(
      behaviour(#""read""#, #""counter": 4"#),
      "3:27: B.counter: expected 1 to 8 octets within the value, found 4 in a value of 0"),
    Mistake(
      behaviour(#""write""#, #""burst": {"count": 1, "size": 4, "on": "write"}"#),
      "3:25: B.burst: expected the property notify on the characteristic, found none"),
    Mistake(
      behaviour(#""notify""#, #""burst": {"count": 1, "size": 4, "on": "write"}"#),
      "3:25: B.burst: expected a writable characteristic, found no write permission"),
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
        + "sink, tally, throughputMetrics, checkSums, octetsPerSecondTo, processTime, burst, stream, "
        + #"application, found "delay""#),
    Mistake(
      behaviour(#""notify""#, #""stream": {"size": 8, "values": "s"}"#),
      #"3:48: B.stream.values: expected one of atto, st, found "s" (did you mean "st"?)"#),
    Mistake(
      behaviour(#""notify""#, #""checkSums": true, "stream": {"size": 8, "values": "st"}"#),
      "3:29: B.checkSums: expected either this or values of ST, found both"),
    Mistake(
      behaviour(#""write", "notify""#, #""echoTo": "2A37", "octetsPerSecondTo": "2A37""#),
      "3:55: B.octetsPerSecondTo: expected a sink without an echo, found another"),
    Mistake(
      behaviour(#""read", "write""#, #""tally": true, "throughputMetrics": true"#),
      "3:52: B.throughputMetrics: expected either this or tally, found both"),
    Mistake(
      behaviour(#""read""#, #""checkSums": true"#),
      "3:29: B.checkSums: expected a stream or a tally, found neither"),
    Mistake(
      behaviour(#""write""#, #""processTime": true"#),
      "3:31: B.processTime: expected a readable characteristic, found no read permission"),
    Mistake(
      behaviour(#""notify""#, #""application": true, "notifyEveryMilliseconds": 5"#),
      "3:31: B.application: expected no other behaviour of the value, found another"),
  ].map {
    Mistake(
      $0.json, $0.message.replacing(" B.", with: " services[0].characteristics[0].behaviour."))
  }

  @Test(arguments: handles + targets + contradictions + behaviours) func namesPositionAndMistake(
    _ mistake: Mistake
  ) {
    #expect(ProfileMistakeTests.message(mistake.json) == "p.json:" + mistake.message)
  }

  @Test func mistakesInAProfileWithoutTextHaveNoPosition() {
    let service = Profile.Service(uuid: 0x180D, handle: 0x0010)
    let profile = Profile(addsAutomaticServices: false, services: [service, service])
    let error = #expect(throws: ProfileError.self) { try profile.layout() }
    #expect(error?.position == nil)
    #expect(
      error?.description
        == "profile: services[1].handle: expected a handle from 0x0011 on, found 0x0010, in use "
        + "by services[0]")
  }
}
