import AttoGateway
import TestSupport
import Testing

@testable import AttoMQTT

@Suite(.oneByOne) struct BrokerFaultTests {
  private let broker = Configuration.MQTT.Broker(host: "broker", port: 1883, usesTLS: false)

  private func settings(
    _ version: Configuration.MQTT.Version, user: String? = nil
  ) -> Configuration.MQTT {
    var settings = Configuration.MQTT(brokers: [broker])
    settings.version = version
    settings.user = user
    return settings
  }

  private func hint(
    _ code: Int32, _ version: Configuration.MQTT.Version = .v5, user: String? = nil
  ) -> String? {
    let reason = BrokerReason(code, version, text: "no")
    return BrokerFault.refused(broker, reason).hint(
      settings(version, user: user), clientID: "atto-hall")
  }

  @Test(arguments: [(1, 0x84), (2, 0x85), (3, 0x88), (4, 0x86), (5, 0x87)])
  func both_versions_have_the_same_hints(old: Int32, new: Int32) {
    #expect(hint(old, .v311) != nil)
    if new != 0x84 { #expect(hint(old, .v311) == hint(new)) }
  }

  @Test(arguments: [
    (0x84, "\"3.1.1\""), (0x85, "\"clientID\""), (0x87, "set \"user\""), (0x89, "\"url\""),
    (0x8A, "atto-hall"), (0x8E, "of its own"), (0x90, "\"topic\""), (0x97, "limits"),
    (0x9A, "retained"), (0x9B, "QoS 1"), (0x9C, "new address"), (0x9F, "limits"),
  ])
  func a_hint_names_what_can_be_changed(code: Int32, text: String) throws {
    #expect(try #require(hint(code)).contains(text))
  }

  @Test func a_configured_user_is_checked() throws {
    #expect(try #require(hint(0x87, user: "atto")).hasPrefix("check \"user\""))
    #expect(hint(1, .v311)?.contains("\"5\"") == true)
    #expect(hint(0x80) == nil)
    #expect(hint(0xFF) == nil)
  }

  @Test func the_words_of_the_broker_are_one_line_of_bounded_length() {
    var reason = BrokerReason(0x9D, .v5, text: "Server moved")
    #expect("\(reason)" == "Server moved")
    reason.words = "a\nhint: b\u{1B}[31m"
    reason.server = "other:1883\n" + String(repeating: "x", count: 1000)
    #expect("\(reason)" == "Server moved (a\\u{A}hint: b\\u{1B}[31m)")
    let hint = reason.hint(settings(.v5), clientID: "x") ?? ""
    #expect(hint.hasPrefix("set \"url\" to other:1883\\u{A}x"))
    #expect(hint.count < 400 && !hint.contains("\n"))
  }

  @Test func a_connection_that_is_closed_without_an_answer() {
    let secure = Configuration.MQTT.Broker(host: "broker", port: 8883, usesTLS: true)
    func hint(
      _ broker: Configuration.MQTT.Broker, _ version: Configuration.MQTT.Version
    ) -> String? {
      BrokerFault.closed(broker, "lost").hint(settings(version), clientID: "x")
    }
    #expect(hint(broker, .v5)?.contains("\"mqtts://\" if") == true)
    #expect(hint(broker, .v5)?.contains("3.1.1") == true)
    #expect(hint(secure, .v5)?.contains("mqtts") == false)
    #expect(hint(secure, .v311) == nil)
    let silent = BrokerFault.unreachable(secure, "it closed without a reason")
    #expect(silent.hint(settings(.v5), clientID: "x")?.contains("certificateFile") == true)
  }

  @Test func a_connection_that_does_not_last() {
    let secure = Configuration.MQTT.Broker(host: "broker", port: 8883, usesTLS: true)
    func hint(_ broker: Configuration.MQTT.Broker, _ time: Duration) -> String? {
      BrokerFault.lost(broker, "unexpected eof while reading", after: time)
        .hint(settings(.v5), clientID: "atto-hall")
    }
    for broker in [broker, secure] {
      #expect(hint(broker, .seconds(1))?.contains("atto-hall") == true)
      // It was a connection of TLS, so that mqtt:// would be wrong advice.
      #expect(hint(broker, .seconds(60)) == nil)
    }
  }
}
