import AttoGateway
import AttoText

/// Why there is no connection to a broker.
enum BrokerFault: Error, Equatable, Sendable {
  /// libmosquitto is missing or incomplete; the text is the system's.
  case libraryMissing(String)
  /// A file of the configuration cannot be used.
  case file(String, reason: String)
  /// The connection could not be made; the text is the library's.
  case unreachable(Configuration.MQTT.Broker, String)
  /// The connection was closed before the broker had answered; the text is the library's.
  case closed(Configuration.MQTT.Broker, String)
  /// The broker has refused the client.
  case refused(Configuration.MQTT.Broker, BrokerReason)
  /// The broker did not answer in this time.
  case timeout(Configuration.MQTT.Broker, after: Duration)
  /// The connection has ended after this time; the text is the library's.
  case lost(Configuration.MQTT.Broker, String, after: Duration)
  /// The process of the connection has died, or does not do its work; the text says which.
  case failed(Configuration.MQTT.Broker, String)
  /// Another gateway at the broker has the gateway's name.
  case nameTaken(Configuration.MQTT.Broker, String)
  /// The broker has ended the connection.
  case ended(Configuration.MQTT.Broker, BrokerReason)

  /// What can be changed; nil if that is not known.
  func hint(_ settings: Configuration.MQTT, clientID: String) -> String? {
    switch self {
    case .libraryMissing: "apt install libmosquitto1"
    case .closed(let broker, let text):
      Self.tlsHint(broker, text) ?? Self.hint(broker, settings.version)
    case .refused(_, let reason), .ended(_, let reason): reason.hint(settings, clientID: clientID)
    // Not every broker says so (0x8E), and the two end each other's connections again and again.
    case .lost(_, _, let time) where time < BrokerConnection.goodTime:
      "if this repeats, another client may have the client ID \"\(clientID)\": give each gateway a "
        + "\"name\" or \"clientID\" of its own"
    case .nameTaken: "give each gateway a \"name\" of its own"
    case .unreachable(let broker, let text): Self.tlsHint(broker, text)
    // After a good time: whatever ended it, the settings were right.
    case .file, .timeout, .failed, .lost: nil
    }
  }

  private static func tlsHint(_ broker: Configuration.MQTT.Broker, _ text: String) -> String? {
    broker.usesTLS ? tlsHints.first { text.utf8.hasPart($0.words.utf8) }?.hint : nil
  }

  private static let authority = "set \"caFile\" to the certificate of the broker's authority"
  private static let name = "use a name of the broker's certificate in \"url\""
  private static let plain = "the broker may expect mqtt:// at this port"
  private static let own = "set \"certificateFile\" and \"keyFile\""
  /// What OpenSSL says, and what can be changed.
  private static let tlsHints: [(words: String, hint: String)] = [
    ("another name", name), ("mismatch", name),
    ("expired", "renew the broker's certificate, or set this machine's clock"),
    ("not yet valid", "set this machine's clock"), ("issuer", authority),
    ("self-signed", authority), ("self signed", authority), ("verify", authority),
    ("unexpected eof", plain), ("wrong version number", plain),
    ("certificate required", own + ": the broker requires a certificate"),
    ("handshake failure", own + " if the broker requires a certificate"),
    // A broker that requires a certificate may close before its reason is read.
    (
      "without a reason",
      own + " if the broker requires a certificate, or use mqtt:// if it expects no TLS"
    ),
  ]

  /// Brokers close connections that they do not understand.
  private static func hint(
    _ broker: Configuration.MQTT.Broker, _ version: Configuration.MQTT.Version
  ) -> String? {
    let hints =
      (broker.usesTLS ? [] : ["\"mqtts://\" if the broker expects TLS"])
      + (version == .v5 ? ["\"version\": \"3.1.1\" if it has no MQTT 5"] : [])
    return hints.isEmpty ? nil : "use " + hints.joined(separator: ", or ")
  }
}

extension BrokerFault: CustomStringConvertible {
  var description: String {
    switch self {
    case .libraryMissing(let reason): "cannot load libmosquitto: \(reason)"
    case .file(let path, let reason): "cannot use \(path): \(reason)"
    case .unreachable(let broker, let reason), .closed(let broker, let reason):
      "cannot connect to \(broker): \(reason)"
    case .refused(let broker, let reason): "\(broker) refuses the connection: \(reason)"
    case .timeout(let broker, let time): "\(broker) did not answer within \(time)"
    case .nameTaken(let broker, let name):
      "another gateway named \"\(name)\" is connected to \(broker): this one publishes nothing there"
    case .ended(let broker, let reason): "\(broker) ended the connection: \(reason)"
    case .lost(let broker, let reason, _), .failed(let broker, let reason):
      "lost the connection to \(broker): \(reason)"
    }
  }
}
