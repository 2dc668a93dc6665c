import AttoGateway
import AttoText
import CAttoMosquitto
import Glibc

/// Everything that a connection to a broker needs. The files are read for each connection, so that
/// passwords and certificates can be changed while the gateway runs.
struct BrokerSettings: Sendable, Equatable {
  /// Octets of a password.
  static let passwordLimit = 65_535
  /// Octets of a packet that the broker may send; in version 3.1.1 the broker cannot be told.
  static let packetLimit: UInt32 = 262_144
  /// Values that may wait for their acknowledgement.
  static let windowLimit: UInt16 = 1000

  var mqtt: Configuration.MQTT
  var clientID: String
  var willTopic: String
  var willPayload: String

  /// The first frame to the process of a connection. Blocks on files.
  func request(for broker: Configuration.MQTT.Broker) throws(BrokerFault) -> [UInt8] {
    if broker.usesTLS {
      for path in [mqtt.caFile, mqtt.certificateFile, mqtt.keyFile] {
        guard let path, access(path, R_OK) != 0 else { continue }
        throw .file(path, reason: String(cString: strerror(errno)))
      }
    }
    let password = try password()
    var frame: [UInt8] = []
    frame.appendFrame(CMOSQUITTO_CONNECT) { body in
      body.appendNumber(UInt8(mqtt.version == .v5 ? 1 : 0))
      body.appendNumber(UInt8(broker.usesTLS ? 1 : 0))
      body.appendNumber(broker.port)
      body.appendNumber(UInt16(mqtt.keepAlive))
      body.appendNumber(Self.windowLimit)
      body.appendNumber(Self.packetLimit)
      for text in [broker.host, clientID, mqtt.user, password] { body.appendText(text) }
      for text in [mqtt.caFile, mqtt.certificateFile, mqtt.keyFile, mqtt.alpn] {
        body.appendText(broker.usesTLS ? text : nil)
      }
      for text in [willTopic, willPayload] { body.appendText(text) }
    }
    return frame
  }

  /// The first line of the password file.
  private func password() throws(BrokerFault) -> String? {
    guard let path = mqtt.passwordFile else { return nil }
    let octets: [UInt8]
    do { octets = try FileBytes.read(path, waits: false) } catch {
      throw .file(path, reason: error.reason)
    }
    let line = octets.prefix { $0 != 0x0A && $0 != 0x0D }
    guard !line.isEmpty else { throw .file(path, reason: "its first line is empty") }
    guard line.count <= Self.passwordLimit, !line.contains(0) else {
      throw .file(path, reason: "its first line is not a password")
    }
    return String(decoding: line, as: UTF8.self)
  }
}
