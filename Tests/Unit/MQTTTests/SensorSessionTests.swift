import AttoATT
import AttoSensors
import AttoText
import TestSupport
import Testing

@testable import Atto
@testable import AttoGateway
@testable import AttoMQTT

/// What is published of sensors that only advertise, and when.
@Suite(.sideBySide) struct SensorSessionTests {
  let address = BluetoothAddress(0x5448_E68F_80A5)

  private func session(key: String? = nil) -> SensorSession {
    var configuration = SensorConfiguration(name: "cellar", address: address)
    if let key { configuration.bindKey = Hex.octets(key.utf8) }
    return SensorSession(configuration)
  }

  /// The keys of the readings that are due after an advertisement of BTHome at a time in seconds.
  private func due(
    _ session: inout SensorSession, _ service: String, at seconds: Double
  ) throws -> [String] {
    let data = try #require(Hex.octets(service.utf8, separators: " "))
    let discovery = Discovery(
      address: address, rssi: -60, isConnectable: false,
      advertisement: [UInt8(data.count + 3), 0x16, 0xD2, 0xFC] + data, scanResponse: [])
    let heard = Heard(discovery: discovery, adapter: .air, time: Int64(seconds * 1e9))
    return session.receive(heard)?.due.map(\.key) ?? []
  }

  @Test func numbersAreLimitedByTime() throws {
    var session = session()
    #expect(try due(&session, "40 02CA09 03BF13", at: 0) == ["temperature", "humidity"])
    #expect(try due(&session, "40 02CB09 03BF13", at: 4) == [])
    #expect(try due(&session, "40 02CB09 03BF13", at: 6) == ["temperature"])
    // What does not change is published often enough not to expire.
    #expect(try due(&session, "40 02CB09 03BF13", at: 59) == [])
    #expect(try due(&session, "40 02CB09 03BF13", at: 61) == ["humidity"])
    session.forget()
    #expect(try due(&session, "40 02CB09", at: 61) == ["temperature"])
  }

  @Test func statesAndEventsAreNotDelayed() throws {
    var session = session()
    #expect(try due(&session, "44 0001 2D01", at: 0) == ["window"])
    #expect(try due(&session, "44 0002 2D00", at: 0.1) == ["window"])
    #expect(try due(&session, "44 0003 3A01", at: 1) == ["button"])
    // The same press, sent again; then another.
    #expect(try due(&session, "44 0003 3A01", at: 1.1) == [])
    #expect(try due(&session, "44 0004 3A01", at: 1.2) == ["button"])
    // Without a packet ID.
    #expect(try due(&session, "44 3A02", at: 9) == ["button"])
    #expect(try due(&session, "44 3A02", at: 10) == [])
    #expect(try due(&session, "44 3A02", at: 13) == ["button"])
  }

  @Test func anOldAdvertisementIsNotBelieved() throws {
    var session = session(key: "231d39c1d7cc1ab1aee224cd096db932")
    // The counters are 0x33221100, and lower.
    #expect(
      try due(&session, "41 A47266C95F73 00112233 78237214", at: 0) == ["temperature", "humidity"])
    #expect(try due(&session, "40 02CB09", at: 100) == [])
    #expect(session.problem == .notEncrypted)
    #expect(
      try due(&session, "41 A47266C95F73 00112233 78237214", at: 100) == [
        "temperature", "humidity",
      ])
    #expect(try due(&session, Self.older, at: 200) == [])
    #expect(session.replayed == 1)
  }

  /// 25.06 °C with the counter 1000.
  private static let older = "41 5b8998 e8030000 7248469b"

  @Test func homeAssistantIsTold() throws {
    let assistant = HomeAssistant(
      prefix: "homeassistant", names: TopicNames(prefix: "atto", gateway: "hall", fleet: nil),
      owner: "hall", gateway: "hall", isFleet: false)
    var session = session()
    let data: [UInt8] = [0x40, 0x02, 0xCA, 0x09, 0x0A, 1, 2, 3, 0x2D, 1, 0x3A, 1, 0x53, 1, 0x61]
    let discovery = Discovery(
      address: address, rssi: -60, isConnectable: false,
      advertisement: [UInt8(data.count + 3), 0x16, 0xD2, 0xFC] + data, scanResponse: [])
    let received = session.receive(Heard(discovery: discovery, adapter: .air, time: 0))
    let (found, due) = try #require(received)
    let messages = due.map { assistant.reading($0, on: "t", of: session.configuration, found) }
    #expect(
      messages.map(\.topic)
        == [
          "sensor/atto_hall_cellar/temperature", "sensor/atto_hall_cellar/energy",
          "binary_sensor/atto_hall_cellar/window", "event/atto_hall_cellar/button",
          "sensor/atto_hall_cellar/text",
        ].map { "homeassistant/\($0)/config" })
    let texts = messages.map { String(decoding: $0.payload, as: UTF8.self) }
    #expect(texts[0].contains(#""device_class":"temperature""#))
    #expect(
      texts[0].contains(
        #""unit_of_measurement":"°C","state_class":"measurement","expire_after":3600"#))
    #expect(texts[1].contains(#""state_class":"total_increasing""#))
    #expect(texts[2].contains(#""device_class":"window""#) && !texts[2].contains("expire_after"))
    #expect(texts[3].contains(#""event_types":["double_press","hold_press""#))
    #expect(!texts[4].contains("state_class"))
  }
}
