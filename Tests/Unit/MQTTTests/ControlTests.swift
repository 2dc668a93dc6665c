import AttoATT
import AttoFormats
import AttoGateway
import AttoText
import TestSupport
import Testing

@testable import AttoMQTT

/// Commands to controls and their states.
@Suite(.oneByOne) struct ControlTests {
  static func controls() throws -> [String: ControlConfiguration] {
    let text = """
      {"name": "hall", "devices": [{"name": "x", "match": {"localName": "1"},
       "sequences": {"open": [{"read": "A001"}]},
       "controls": [
        {"component": "switch", "name": "light", "characteristic": "A001", "on": "hex:01", "off": "hex:00"},
        {"component": "number", "name": "level", "characteristic": "A002", "format": "uint16",
         "scale": 0.1, "min": 5, "max": 30, "unit": "°C", "deviceClass": "temperature"},
        {"component": "select", "name": "mode", "characteristic": "A003",
         "options": {"eco": "hex:00", "é": {"sequence": "open", "state": "hex:02"}}},
        {"component": "button", "name": "press", "press": {"sequence": "open"}},
        {"component": "text", "name": "label", "characteristic": "A004", "min": 1, "max": 5,
         "optimistic": true, "icon": "mdi:label", "entityCategory": "config"}]}]}
      """
    let controls = try Configuration(json: Array(text.utf8)).devices[0].controls
    return Dictionary(uniqueKeysWithValues: controls.map { ($0.name, $0) })
  }

  private func effect(
    _ name: String, _ payload: [UInt8]
  ) throws -> Result<ControlConfiguration.Effect?, Request.Mistake> {
    effect(try #require(try Self.controls()[name]), payload)
  }

  private func effect(
    _ control: ControlConfiguration, _ payload: [UInt8]
  ) -> Result<ControlConfiguration.Effect?, Request.Mistake> {
    Result { () throws(Request.Mistake) in
      let topic = RequestTopic.set(device: "x", characteristic: control.name)
      guard case .control(let command, _) = try Request(topic, payload, control: control).action
      else { return nil }
      return command.effect
    }
  }

  @Test(arguments: [
    ("light", "ON", ControlConfiguration.Effect.write([1])), ("light", "OFF", .write([0])),
    ("light", #"{"value":"ON","id":7}"#, .write([1])),
    ("level", "21.5", .write([215, 0])), ("level", "21.5e0", .write([215, 0])),
    ("level", #"{"value":30}"#, .write([44, 1])), ("level", #"{"value":"5"}"#, .write([50, 0])),
    ("mode", "eco", .write([0])), ("mode", "é", .sequence("open")),
    ("press", "PRESS", .sequence("open")), ("label", "Hall", .write(Array("Hall".utf8))),
    ("label", #"{"value":"{}"}"#, .write(Array("{}".utf8))),
  ])
  func commands(_ name: String, _ payload: String, _ expected: ControlConfiguration.Effect) throws {
    #expect(try effect(name, Array(payload.utf8)) == .success(expected))
  }

  @Test(arguments: [
    ("light", "on", "expected one of ON, OFF, found \"on\""), ("light", "", "an empty payload"),
    ("light", "01", "expected one of"), ("light", #"{"value":true}"#, "value: expected a text"),
    ("light", #"{"text":"ON"}"#, "unknown key"), ("light", "{}", "expected the key value"),
    ("light", "{\"value\":", "invalid JSON"), ("light", "ON\0", "expected one of"),
    ("level", "4.9", "expected a number from 5 to 30"), ("level", "30.1", "expected a number"),
    ("level", "nan", "expected a number"), ("level", "inf", "expected a number"),
    ("level", "0x10", "expected a number"), ("level", "1e999", "expected a number"),
    ("level", "-21.5", "expected a number"), ("level", " 21", "expected a number"),
    ("level", "2１", "expected a number"),
    ("level", "21." + String(repeating: "0", count: 400), "expected a number"),
    ("level", String(repeating: "2", count: 513), "payload too long"),
    ("level", #"{"value":[21]}"#, "value: expected a number, found a list"),
    // Equal as characters, not as octets.
    ("mode", "e\u{301}", "expected one of"), ("mode", "ECO", "expected one of"),
    ("press", "press", "expected one of PRESS"), ("label", "längst", "expected 1 to 5 octets"),
    ("label", #"{"value":""}"#, "expected 1 to 5 octets, found 0"),
  ])
  func mistakes(_ name: String, _ payload: String, _ expected: String) throws {
    guard case .failure(let mistake) = try effect(name, Array(payload.utf8)) else {
      Issue.record("\(payload) was accepted")
      return
    }
    #expect(mistake.message.hasPrefix(expected), "\(mistake.message)")
    #expect(mistake.message.utf8.count < 200)
  }

  /// No payload does anything else than one that is listed above.
  @Test func randomPayloads() throws {
    var random = SplitMix64(seed: 32)
    let accepted = ["light": 2, "level": 251, "mode": 2, "press": 1]
    for (name, control) in try Self.controls() where name != "label" {
      var found: Set<[UInt8]> = []
      for _ in 0..<20_000 {
        let count = Int.random(in: 0...6, using: &random)
        let pieces: [[UInt8]] = (0..<count).map { _ in
          let words = [
            "ON", "OFF", "eco", "é", "PRESS", "{\"value\":", "}", "2", "1", ".", "e", "\"",
          ]
          return Bool.random(using: &random)
            ? Array((words.randomElement(using: &random) ?? "").utf8)
            : [UInt8.random(in: .min ... .max, using: &random)]
        }
        let payload = pieces.flatMap { $0 }
        guard case .success(.write(let octets)?) = effect(control, payload) else { continue }
        found.insert(octets)
      }
      #expect(found.count <= accepted[name] ?? 0, "\(name)")
      if case .number(let number) = control.content {
        for octets in found { #expect(number.range.contains(number.number(octets) ?? -1)) }
      }
    }
    #expect(
      try effect("label", [0xFF, 0xFE]) == .failure(Request.Mistake("expected a text in UTF-8")))
  }

  @Test func states() throws {
    let controls = try Self.controls()
    func state(_ name: String, _ octets: [UInt8]) throws -> JSON {
      try #require(controls[name]).state(octets)
    }
    #expect(try state("light", [1]) == .string("ON") && state("light", [0]) == .string("OFF"))
    #expect(try state("light", [2]) == .null && state("light", []) == .null)
    #expect(try state("mode", [2]) == .string("é"))
    #expect(try state("level", [215, 0]) == .number("21.5") && state("level", [215]) == .null)
    #expect(try state("label", [0x41, 0xFF, 0, 0x42]) == .string("A\u{FFFD}"))
  }

  @Test func announcements() throws {
    let names = TopicNames(prefix: "atto", gateway: "hall", fleet: nil)
    let assistant = HomeAssistant(
      prefix: "homeassistant", names: names, owner: "hall", gateway: "hall", isFleet: false,
      page: "http://[::1]:9273/")
    var texts: [String: String] = [:]
    for (name, control) in try Self.controls() {
      let message = assistant.control(control, of: "x", isHeld: name != "press", .init())
      #expect(message.retained)
      #expect(throws: Never.self) { try JSONParser.parse(message.payload) }
      let parts = try #require(assistant.parts(ofTopic: message.topic))
      #expect(parts == (control.component.rawValue[...], "atto_hall_x", name[...]))
      texts[name] = String(decoding: message.payload, as: UTF8.self)
    }
    func has(_ name: String, _ piece: String) -> Bool { texts[name]?.contains(piece) ?? false }
    #expect(has("light", #""command_topic":"atto/hall/x/light/set""#))
    #expect(has("light", #""state_topic":"atto/hall/x/light""#) && !has("light", "optimistic"))
    #expect(has("light", #""configuration_url":"http://[::1]:9273/""#))
    #expect(has("level", #""min":5,"max":30,"step":0.1,"unit_of_measurement":"°C""#))
    #expect(has("mode", #""options":["eco","é"]"#))
    #expect(has("press", "command_topic") && !has("press", "state_topic"))
    #expect(has("label", #""optimistic":true"#) && has("label", "command_template"))
    // A device that is connected for each command is available without a link.
    #expect(has("light", "atto/hall/x/status") && !has("press", "atto/hall/x/status"))
  }
}
