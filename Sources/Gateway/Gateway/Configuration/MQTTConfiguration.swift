extension Configuration {
  /// The connection to an MQTT broker.
  package struct MQTT: Equatable, Sendable {
    /// The brokers, of which the first that can be reached is used; at least one.
    package var brokers: [Broker]
    /// The version of the protocol: 3.1.1 or 5.
    package var version = Version.v5
    /// The user's name; nil: anonymous.
    package var user: String?
    /// The file with the password in its first line.
    package var passwordFile: String?
    /// Whether the password may go to a broker without TLS where others have it.
    package var allowsPlaintext = false
    /// The file with the certificates of the authorities that are trusted; nil: the system's.
    package var caFile: String?
    /// The files of the client's own certificate and of its key.
    package var certificateFile: String?
    package var keyFile: String?
    /// The protocol that is asked for by ALPN, for brokers that share port 443.
    package var alpn: String?
    /// The client's ID; nil: `atto-` and the gateway's name.
    package var clientID: String?
    /// The first part of every topic.
    package var topic = "atto"
    /// The first part of the response topics to which answers may go; `topic` and `answers`.
    package var answers = "atto/answers"
    /// Whether devices are announced to Home Assistant.
    package var homeAssistant = false
    /// The prefix of Home Assistant's discovery topics.
    package var homeAssistantPrefix = "homeassistant"
    /// The quality of service of values, 0 or 1.
    package var qos = 1
    /// Whether the broker keeps the last value of each characteristic; nil: of those that are announced to Home
    /// Assistant.
    package var retains: Bool?
    /// How values are written.
    package var values = ValueStyle.json
    /// The seconds between keep-alive messages, 5 to 3600.
    package var keepAlive = 30
    /// Whether requests may name any device that is heard, by its address.
    package var connectsAny = false
    /// The file of the values that wait for the broker; nil: `queue.sqlite` in the state folder, or in
    /// memory without one.
    package var queue: String?
    /// Values that are kept while no broker can be reached, 0 to 10,000,000. Beyond it the oldest is dropped.
    package var queueLimit = 100_000

    package init(brokers: [Broker]) { self.brokers = brokers }

    /// A broker.
    package struct Broker: Equatable, Sendable, CustomStringConvertible {
      package var host: String
      package var port: UInt16
      /// `mqtts://` rather than `mqtt://`.
      package var usesTLS: Bool

      package init(host: String, port: UInt16, usesTLS: Bool) {
        self.host = host
        self.port = port
        self.usesTLS = usesTLS
      }

      package var description: String {
        "mqtt\(usesTLS ? "s" : "")://"
          + "\(ListeningPlace.internet(host: host, port: port))"
      }
    }

    /// How a value is written in the payload of its topic.
    package enum ValueStyle: String, CaseIterable, Equatable, Sendable {
      /// An object with the value in hexadecimal, its fields if they are known, and the time.
      case json
      /// Hexadecimal digits.
      case hex
      /// The octets.
      case raw
    }

    package enum Version: String, CaseIterable, Equatable, Sendable {
      case v311 = "3.1.1"
      case v5 = "5"
    }
  }
}
