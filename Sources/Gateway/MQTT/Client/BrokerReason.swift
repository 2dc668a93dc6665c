import AttoGateway
import AttoText

/// Why a broker refuses or ends a connection: a reason code of its CONNACK or DISCONNECT.
struct BrokerReason: Equatable, Sendable {
  /// In the numbers of version 5. MQTT 5.0, 3.2.2.2 and 3.14.2.1.
  let code: Int32
  /// The library's name of the code.
  let text: String
  /// The broker's own words, and the server that it names; version 5.
  var words: String?
  var server: String?
  /// Characters of these that are shown.
  static let textLimit = 200

  /// - Parameter code: of CONNACK in the numbers of `version`.
  init(_ code: Int32, _ version: Configuration.MQTT.Version, text: String) {
    self.text = text
    // MQTT 3.1.1, table 3.1.
    let codes: [Int32] = [0x84, 0x85, 0x88, 0x86, 0x87]
    self.code =
      version == .v5 || !(1...codes.count ~= Int(code)) ? code : codes[Int(code) - 1]
  }

  /// What can be changed so that the broker accepts the client; nil if that is not known.
  func hint(_ settings: Configuration.MQTT, clientID: String) -> String? {
    switch code {
    case 0x84: "set \"version\" to \"\(settings.version == .v5 ? "3.1.1" : "5")\""
    case 0x85: "set \"clientID\" to an ID that the broker accepts; it is \"\(clientID)\" now"
    case 0x86, 0x87:
      if settings.user == nil, settings.certificateFile == nil {
        "set \"user\" and \"passwordFile\", if the broker has passwords"
      } else {
        "check \"user\", the first line of \"passwordFile\", and the broker's access rules"
      }
    case 0x88, 0x89: "add another broker to \"url\", or raise this broker's limits"
    case 0x8A: "have the broker's administrator admit \"\(clientID)\" again"
    case 0x8E:
      "another client has connected as \"\(clientID)\": give each gateway a \"name\" or \"clientID\" of its own"
    case 0x90: "set \"topic\" to one that the broker accepts"
    case 0x97, 0x9F: "raise the broker's limits for this user, or add another broker to \"url\""
    case 0x9A: "the gateway needs a broker that accepts retained messages"
    case 0x9B: "the gateway needs a broker that accepts QoS 1"
    case 0x9C, 0x9D: "set \"url\" to \(server.map(Self.shown) ?? "the broker's new address")"
    default: nil
    }
  }
}

extension BrokerReason: CustomStringConvertible {
  var description: String { text + (words.map { " (\(Self.shown($0)))" } ?? "") }

  private static func shown(_ text: String) -> String {
    String(text.printable.prefix(textLimit))
  }
}
