import AttoFormats
import AttoGateway
import AttoText
import TestSupport
import Testing

@testable import Atto
@testable import AttoMQTT

@Suite(.oneByOne) struct TopicTests {
  let names = TopicNames(prefix: "atto", gateway: "hall", fleet: nil)

  @Test func names_of_others_are_one_level() {
    #expect(TopicNames.level("a/b+c#d") == "a%2Fb%2Bc%23d")
    #expect(TopicNames.level("") == "%")
    #expect(TopicNames.level("\0") == "%00")
    #expect(TopicNames.level("$SYS$") == "%24SYS$")
    #expect(TopicNames.level(String(repeating: "é", count: 100)).utf8.count == 64)
    for scalar in (0...0x2FF).compactMap(Unicode.Scalar.init) {
      let level = TopicNames.level("a" + String(scalar))
      #expect(!level.contains("/") && !level.contains("+") && !level.contains("#"))
      #expect(level.unicodeScalars.allSatisfy { $0.value >= 0x20 })
    }
  }

  @Test func a_fleet_hides_the_gateway() {
    let names = TopicNames(prefix: "atto", gateway: "hall", fleet: "home")
    #expect(names.status == "atto/hall/status")
    #expect(names.value("2a37", of: "strap") == "atto/home/strap/2a37")
    #expect(RequestTopic("atto/home/strap/2a37/set", in: names) != nil)
    #expect(RequestTopic("atto/hall/strap/2a37/set", in: names) == nil)
  }

  @Test func requests_by_topic() {
    #expect(RequestTopic("atto/hall/scan", in: names) == .scan)
    #expect(RequestTopic("atto/hall/restart", in: names) == .restart)
    #expect(RequestTopic("atto/hall/update", in: names) == .updates)
    #expect(RequestTopic("atto/hall/lamp/update", in: names) == .update(device: "lamp"))
    #expect(
      RequestTopic("atto/hall/strap/2a37/get", in: names)
        == .get(device: "strap", characteristic: "2a37"))
    #expect(RequestTopic("atto/hall/strap/sequence", in: names) == .sequence(device: "strap"))
    #expect(RequestTopic("atto/hall/strap/passkey", in: names) == .passkey(device: "strap"))
    #expect(RequestTopic("atto/hall/strap/requests", in: names) == .requests(device: "strap"))
    for topic in [
      "atto/hall/strap/2a37", "atto/hall/strap/pairing",
      "atto/hall/strap/passkey/answer", "atto/hall/a/b/c/set", "atto/hal/strap/2a37/set", "", "/",
    ] {
      #expect(RequestTopic(topic, in: names) == nil)
    }
  }

  private func action(
    _ topic: String, _ payload: String
  ) throws -> Result<Request.Action, Request.Mistake> {
    let topic = try #require(RequestTopic("atto/hall/" + topic, in: names))
    return Result { () throws(Request.Mistake) in
      try Request(topic, Array(payload.utf8)).action
    }
  }

  @Test func payloads() throws {
    #expect(
      try action("strap/2a39/set", "0a ff") == .success(.write([10, 255], withResponse: true)))
    #expect(
      try action("strap/2a39/set", #"{"text":"ab","response":false,"id":7}"#)
        == .success(.write([0x61, 0x62], withResponse: false)))
    #expect(
      try action("strap/2a39/set", #" {"base64":"AQI="}"#)
        == .success(.write([1, 2], withResponse: true)))
    #expect(
      try action("strap/passkey", #"{"question":"0f","answer":"012345"}"#)
        == .success(.answer(.passkey(12345), question: "0f")))
    for payload in ["012345", #"{"answer":"1"}"#, #"{"question":"a","answer":123456}"#, "yes", ""] {
      #expect(throws: Request.Mistake.self) { try action("strap/passkey", payload).get() }
    }
    #expect(try action("strap/2a39/get", "") == .success(.read))
    #expect(try action("strap/2a39/subscribe", "off") == .success(.subscribe(false)))
    #expect(try action("strap/requests", "") == .success(.list))
    #expect(try action("strap/requests", #"{"id":1}"#) == .success(.list))
    #expect(try action("strap/requests", "cancel") == .success(.cancel(number: nil)))
    #expect(try action("strap/requests", #"{"cancel":7}"#) == .success(.cancel(number: 7)))
    #expect(try action("scan", "active") == .success(.scan(isActive: true)))
    #expect(
      try action(
        "strap/sequence",
        #"{"steps":[{"write":"2a39","value":"01"},{"pauseMilliseconds":5},{"expect":"0x0013"}]}"#)
        == .success(
          .steps([
            .write(.uuid(BluetoothUUID(0x2A39), service: nil), [1], withResponse: true),
            .pause(.milliseconds(5)),
            .expect(.handle(0x13), beginning: [], within: .seconds(5)),
          ])))
  }

  @Test(arguments: [
    ("strap/2a39/set", "0", "expected hexadecimal digits or a JSON object"),
    ("strap/2a39/set", "", #"an empty payload writes nothing: {"value":""}"#),
    ("strap/2a39/set", #"{"valeu":"00"}"#, #"unknown key "valeu""#),
    ("strap/2a39/set", #"{"value":"00","text":"a"}"#, "value and text cannot be combined"),
    ("strap/2a39/set", #"{"value":"zz"}"#, "value: expected hexadecimal digits"),
    ("strap/2a39/set", "{\"value\":\"00\"", "invalid JSON at octet 13"),
    ("strap/2a39/set", "{\u{0}", "invalid JSON at octet 1"),
    ("strap/sequence", #"{"steps":[]}"#, "steps: expected a list of steps"),
    ("strap/sequence", #"{"steps":[{"pauseMilliseconds":-1}]}"#, "step 1: pauseMilliseconds"),
    ("strap/sequence", #"{"steps":[7]}"#, "step 1: expected an object"),
    ("strap/requests", "drop", "expected list, cancel or a JSON object"),
    ("strap/requests", #"{"cancel":"7"}"#, "cancel: expected a whole number"),
    (
      "strap/passkey", #"{"question":"a","answer":"123456 "}"#,
      "answer: expected one to six digits, yes or no"
    ),
    ("restart", "", "expected restart"), ("restart", "{}", "expected restart, found an object"),
    ("scan", "often", "expected active, passive or a JSON object"),
  ])
  func mistakes(_ topic: String, _ payload: String, _ message: String) throws {
    guard case .failure(let mistake) = try action(topic, payload) else {
      Issue.record("\(payload) was accepted")
      return
    }
    #expect(mistake.message.hasPrefix(message), "\(mistake.message)")
    // What is nearly a passkey is not repeated.
    #expect(!mistake.message.contains("123456"))
  }

  @Test func limits() throws {
    let long = String(repeating: "00", count: 513)
    let mistake = #expect(throws: Request.Mistake.self) {
      try action("strap/2a39/set", long).get()
    }
    #expect(mistake?.message == "value too long: 513 octets (the limit is 512)")
    let giant = String(repeating: " ", count: Request.payloadLimit + 1)
    let other = #expect(throws: Request.Mistake.self) {
      try action("strap/2a39/set", giant).get()
    }
    #expect(other?.kind == .limit)
    let deep = "{\"id\":" + String(repeating: "[", count: 10_000)
    #expect(throws: Request.Mistake.self) { try action("strap/2a39/get", deep).get() }
  }

  @Test func an_answer_repeats_the_id() throws {
    let topic = try #require(RequestTopic("atto/hall/strap/2a39/get", in: names))
    let request = try Request(topic, Array(#"{"id":{"a":[1,"x"]}}"#.utf8))
    var answer = Answer(id: request.id, via: "hall")
    answer.error(
      .device(.refused(ErrorResponse(request: .readRequest, handle: 3, code: .readNotPermitted))))
    let text = String(decoding: answer.payload, as: UTF8.self)
    #expect(text.hasPrefix(#"{"id":{"a":[1,"x"]},"via":"hall","error":{"kind":"att","message":"#))
    #expect(text.hasSuffix(#""code":2,"name":"Read Not Permitted","handle":3}}"#))
  }

  @Test func values() {
    var clock = WallTime.Clock()
    let time = clock.at(1_795_384_896_007)
    func text(_ uuid: UInt16, _ octets: [UInt8], _ style: Configuration.MQTT.ValueStyle) -> String {
      let topic = ValueTopic(
        "t", of: BluetoothUUID(uuid), decodes: true, style: style, via: "hall")
      return String(decoding: topic.value(octets, at: time).payload, as: UTF8.self)
    }
    #expect(
      text(0x2A19, [0x64], .json)
        == #"{"value":"64","decoded":{"level":100},"units":{"level":"%"},"#
        + #""time":"2026-11-22T22:01:36.007Z","via":"hall"}"#)
    #expect(text(0x2A37, [0], .json).contains(#""fault":"ends in heart rate""#))
    #expect(text(0xFFF0, [0xAB], .hex) == "ab")
    #expect(text(0xFFF0, [0x41], .raw) == "A")
  }

  @Test func a_value_that_is_read_expires() throws {
    let assistant = HomeAssistant(
      prefix: "a/b", names: names, owner: "hall", gateway: "hall", isFleet: false)
    func text(_ period: Duration?) throws -> String {
      let messages = assistant.values(
        BluetoothUUID(0x2A19), "2a19", of: "strap", HomeAssistant.About(), every: period)
      let message = try #require(messages.first)
      #expect(messages.count == 1 && assistant.node(inTopic: message.topic) == "atto_hall_strap")
      return String(decoding: message.payload, as: UTF8.self)
    }
    #expect(try !text(nil).contains("expire_after"))
    #expect(try text(.seconds(1)).contains(#""expire_after":60"#))
    #expect(try text(.seconds(3600)).contains(#""expire_after":10800"#))
    for topic in ["a/b/status", "a/b/x/config", "a/c/sensor/n/o/config", "atto/hall/strap/2a19"] {
      #expect(assistant.node(inTopic: topic) == nil)
    }
    var birth = BrokerMessage(topic: "a/b/status", payload: Array("online".utf8))
    #expect(assistant.isBirth(birth))
    birth.isRetained = true
    #expect(!assistant.isBirth(birth))
  }

  @Test func discovery_messages_are_JSON() throws {
    let assistant = HomeAssistant(
      prefix: "homeassistant", names: names, owner: "hall", gateway: "hall", isFleet: false)
    let messages =
      HomeAssistant.sensors.flatMap {
        assistant.values(
          BluetoothUUID($0.uuid), "name", of: "strap",
          HomeAssistant.About(address: BluetoothAddress(1), information: [("model", "\"x")]))
      } + assistant.state(of: "strap", HomeAssistant.About())
      + assistant.own
    #expect(messages.count == HomeAssistant.sensors.count + 9)
    for message in messages {
      #expect(throws: Never.self) { try JSONParser.parse(message.payload) }
      #expect(message.retained && message.topic.hasSuffix("/config"))
    }
    // Each field exists in the format.
    for sensor in HomeAssistant.sensors {
      let format = try #require(ValueFormat(of: BluetoothUUID(sensor.uuid)))
      let value = try format.decode([UInt8](repeating: 0, count: 20))
      let field = value.fields.first { $0.name == sensor.field }
      #expect(field?.unit == sensor.unit, "\(sensor.name)")
    }
  }
}
