import Atto
import AttoATT
import TestSupport
import Testing

@testable import AttoGateway

@Suite("Controls of a device", .oneByOne) struct ControlConfigurationTests {
  static func read(_ controls: String) throws(ConfigurationError) -> [ControlConfiguration] {
    try ConfigurationTests.read(
      """
      {"name": "a", "devices": [{"name": "x", "match": {"localName": "1"},
       "characteristics": {"level": "2A19"},
       "sequences": {"open": [{"write": "A001", "value": "hex:01"}], "shut": [{"read": "A001"}]},
       "controls": \(controls)}]}
      """
    ).devices[0].controls
  }

  @Test func everything() throws {
    let controls = try Self.read(
      """
      [{"component": "switch", "name": "light", "friendlyName": "Light", "characteristic": "A001",
        "on": "hex:01", "off": {"write": "hex:00", "state": "hex:0000"}, "deviceClass": "outlet",
        "entityCategory": "config", "icon": "mdi:lightbulb", "response": false},
       {"component": "number", "name": "setpoint", "characteristic": "180F/A002", "format": "int16",
        "scale": 0.1, "min": 5, "max": 30, "step": 0.5, "unit": "°C", "deviceClass": "temperature",
        "mode": "slider", "state": "level"},
       {"component": "select", "name": "mode", "characteristic": "A003",
        "options": {"eco": "hex:00", "away from home": {"sequence": "open", "state": "hex:02"}}},
       {"component": "button", "name": "press", "press": {"sequence": "shut"}},
       {"component": "text", "name": "label", "characteristic": "A004", "max": 20, "optimistic": true},
       {"component": "switch", "name": "door", "on": {"sequence": "open"}, "off": {"sequence": "shut"},
        "optimistic": true}]
      """)
    #expect(controls.map(\.name) == ["light", "setpoint", "mode", "press", "label", "door"])
    let first: CharacteristicReference = .uuid(0xA001, service: nil)
    #expect(
      controls[0].content
        == .choices([
          .init(name: "ON", effect: .write([1]), state: [1]),
          .init(name: "OFF", effect: .write([0]), state: [0, 0]),
        ]))
    #expect(controls[0].characteristic == first && controls[0].state == first)
    #expect(controls[0].hasResponse == false && controls[0].icon == "mdi:lightbulb")
    #expect(controls[1].state == .name("level") && controls[1].hasResponse == nil)
    var number = ControlNumber(range: 5...30, step: 0.5)
    (number.format, number.scale, number.unit, number.mode) = (.int16, 0.1, "°C", "slider")
    #expect(controls[1].content == .number(number))
    #expect(
      controls[2].content
        == .choices([
          .init(name: "eco", effect: .write([0]), state: [0]),
          .init(name: "away from home", effect: .sequence("open"), state: [2]),
        ]))
    #expect(controls[3].state == nil && controls[4].state == nil && controls[5].state == nil)
    #expect(controls[4].content == .text(0...20))
  }

  private static let light = #""component": "switch", "name": "light", "characteristic": "A001""#
  private static let number = #""component": "number", "name": "n", "characteristic": "A001""#

  @Test(arguments: [
    (#"[{"name": "light"}]"#, #"controls[0]: expected the key "component""#),
    (#"[{"component": "swich", "name": "a"}]"#, #"(did you mean "switch"?)"#),
    (#"[{\#(light), "on": "hex:01"}]"#, #"controls[0]: expected the key "off""#),
    (#"[{\#(light), "on": "01", "off": "hex:00"}]"#, "controls[0].on: expected"),
    (
      #"[{\#(light), "on": "hex:01", "off": "hex:01"}]"#,
      #"expected a value of its own for "OFF", or "optimistic": true, found that of "ON""#
    ),
    (
      #"[{"component": "switch", "name": "a", "on": "hex:01", "off": "hex:00"}]"#,
      #"on: expected the key "characteristic" in the control"#
    ),
    (
      #"[{\#(light), "on": {"sequence": "opn"}, "off": "hex:00"}]"#,
      #"on.sequence: expected one of open, shut, found "opn" (did you mean "open"?)"#
    ),
    (
      #"[{\#(light), "on": {"state": "hex:00"}, "off": "hex:00"}]"#,
      "expected one of the keys write"
    ),
    (
      #"[{\#(light), "on": {"sequence": "open"}, "off": {"sequence": "shut"}}]"#,
      #"expected a value of its own for "OFF""#
    ),
    (
      #"[{\#(light), "on": "hex:01", "off": "hex:00", "min": 1}]"#,
      #"controls[0].min: expected no "min" in a switch"#
    ),
    (
      #"[{\#(light), "on": "hex:01", "off": "hex:00", "state": "A001", "optimistic": true}]"#,
      #"expected no "state" beside "optimistic""#
    ),
    (
      #"[{\#(light), "on": "hex:01", "off": "hex:00", "deviceClass": "lamp"}]"#,
      "deviceClass: expected one of outlet, switch"
    ),
    (
      #"[{\#(light), "on": "hex:01", "off": "hex:00", "icon": "bulb"}]"#,
      #"an icon such as "mdi:lightbulb""#
    ),
    (
      #"[{"component": "button", "name": "a", "press": {"sequence": "open"}, "optimistic": true}]"#,
      #"expected no "optimistic" in a button"#
    ),
    (
      #"[{"component": "button", "name": "status", "press": {"sequence": "open"}}]"#,
      "none of status, sequence"
    ),
    (#"[{"component": "button", "name": "2A19", "press": {"sequence": "open"}}]"#, "no UUID"),
    (
      #"[{"component": "button", "name": "level", "press": {"sequence": "open"}}]"#,
      "no other control and no characteristic has"
    ),
    (
      #"[{"component": "button", "name": "b", "press": {"sequence": "open"}}, {"component": "button", "name": "b", "press": {"sequence": "open"}}]"#,
      "controls[1].name"
    ),
    (#"[{\#(number)}]"#, #"expected the key "format""#),
    (#"[{\#(number), "format": "uint8", "max": 256}]"#, "max: expected a number from 0.0 to 255.0"),
    (#"[{\#(number), "format": "uint8", "min": 5, "max": 5}]"#, #"expected "min" below "max""#),
    (#"[{\#(number), "format": "uint8", "scale": 0}]"#, "scale: expected a number from"),
    (#"[{\#(number), "format": "uint8", "step": 0}]"#, "step: expected"),
    (#"[{"component": "number", "name": "n", "format": "uint8"}]"#, #"the key "characteristic""#),
    (#"[{"component": "select", "name": "s", "options": {}}]"#, "expected 1 to 64 options"),
    (
      #"[{"component": "text", "name": "t", "characteristic": "A001", "min": 9, "max": 8}]"#,
      "from 9 to 255"
    ),
  ])
  func mistakes(_ text: String, _ expected: String) {
    do throws(ConfigurationError) {
      _ = try Self.read(text)
      Issue.record("accepted: \(text)")
    } catch {
      #expect("\(error)".contains(expected), "\(error)")
      #expect("\(error)".hasPrefix("gateway.json:4:"))
    }
  }

  /// Each number of the range comes back from its octets, in each format and order.
  @Test(arguments: ControlNumber.Format.allCases, [false, true])
  func numbersComeBack(_ format: ControlNumber.Format, _ isBigEndian: Bool) {
    for scale in [1, 0.1, 0.25, 100] {
      let limits = format.range
      var number = ControlNumber(
        range: (limits.lowerBound * scale)...(limits.upperBound * scale), step: scale)
      (number.format, number.isBigEndian, number.scale) = (format, isBigEndian, scale)
      for value in [
        number.range.lowerBound, number.range.upperBound, 0, 7 * scale, -7 * scale, 100 * scale,
      ] where number.range.contains(value) {
        let octets = number.octets(value)
        #expect(octets.count == format.size)
        let found = number.number(octets)
        #expect(abs((found ?? .infinity) - value) <= 1e-6 * max(1, abs(value)), "\(value)")
      }
      #expect(number.number([]) == nil)
      #expect(number.number([UInt8](repeating: 0, count: format.size + 1)) == nil)
    }
  }

  @Test func octetsOfNumbers() {
    var number = ControlNumber(range: -100...100, step: 1)
    (number.format, number.scale) = (.int16, 0.1)
    #expect(number.octets(21.5) == [215, 0] && number.number([215, 0]) == 21.5)
    #expect(number.octets(-0.3) == [0xFD, 0xFF] && number.number([0xFD, 0xFF]) == -0.3)
    number.isBigEndian = true
    #expect(number.octets(21.5) == [0, 215])
    (number.format, number.isBigEndian) = (.int24, false)
    #expect(number.number([0xFF, 0xFF, 0xFF]) == -0.1)
    (number.format, number.scale) = (.float32, 1)
    #expect(number.octets(1.5) == [0, 0, 0xC0, 0x3F])
    #expect(number.number([0, 0, 0xC0, 0x7F]) == nil)
  }
}
