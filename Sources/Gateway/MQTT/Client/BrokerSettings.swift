import AttoFormats
import AttoGateway
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

  /// Makes a client and connects it. Blocks on files, the name server and the network.
  ///
  /// - Parameter context: the number of the pointer that callbacks get.
  /// - Returns: the number of the client's pointer; pointers cannot be sent between threads.
  func connect(
    to broker: Configuration.MQTT.Broker, events: cmosquitto_events, context: UInt
  ) throws(BrokerFault) -> UInt {
    guard cmosquitto_load() == 0 else {
      throw .libraryMissing(String(cString: cmosquitto_load_error()))
    }
    let client = try make(broker, events, context)
    let result = cmosquitto_connect(
      client, broker.host, broker.port, UInt16(mqtt.keepAlive), Self.packetLimit)
    guard result == CMOSQUITTO_OK else {
      let reason = String(cString: cmosquitto_text(client, result))
      cmosquitto_destroy(client)
      throw .unreachable(broker, reason)
    }
    return UInt(bitPattern: client)
  }

  private func make(
    _ broker: Configuration.MQTT.Broker, _ events: cmosquitto_events, _ context: UInt
  ) throws(BrokerFault) -> OpaquePointer {
    if broker.usesTLS {
      for path in [mqtt.caFile, mqtt.certificateFile, mqtt.keyFile] {
        guard let path, access(path, R_OK) != 0 else { continue }
        throw .file(path, reason: String(cString: strerror(errno)))
      }
    }
    let texts = Texts([
      clientID, mqtt.user, try password(), broker.usesTLS ? mqtt.caFile : nil,
      broker.usesTLS ? mqtt.certificateFile : nil, broker.usesTLS ? mqtt.keyFile : nil,
      broker.usesTLS ? mqtt.alpn : nil, willTopic, willPayload,
    ])
    var options = cmosquitto_options()
    options.client_id = texts[0]
    options.version5 = mqtt.version == .v5
    options.user = texts[1]
    options.password = texts[2]
    options.tls = broker.usesTLS
    options.ca_file = texts[3]
    options.certificate_file = texts[4]
    options.key_file = texts[5]
    options.alpn = texts[6]
    options.will_topic = texts[7]
    options.will_payload = texts[8]
    options.window = Self.windowLimit
    var result: Int32 = 0
    let client = cmosquitto_make(
      &options, events, UnsafeMutableRawPointer(bitPattern: context), &result)
    guard let client else {
      throw .unreachable(broker, String(cString: cmosquitto_text(nil, result)))
    }
    return client
  }

  /// The first line of the password file.
  private func password() throws(BrokerFault) -> String? {
    guard let path = mqtt.passwordFile else { return nil }
    let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard file >= 0 else { throw .file(path, reason: String(cString: strerror(errno))) }
    defer { _ = close(file) }
    let limit = Self.passwordLimit + 2
    var failure: Int32 = 0
    let octets = [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
      while count < limit {
        let read = read(file, buffer.baseAddress! + count, limit - count)
        if read < 0, errno == EINTR { continue }
        if read < 0 { failure = errno }
        guard read > 0 else { break }
        count += read
      }
    }
    guard failure == 0 else { throw .file(path, reason: String(cString: strerror(failure))) }
    let line = octets.prefix { $0 != 0x0A && $0 != 0x0D }
    guard !line.isEmpty else { throw .file(path, reason: "its first line is empty") }
    guard line.count <= Self.passwordLimit, !line.contains(0) else {
      throw .file(path, reason: "its first line is not a password")
    }
    return String(decoding: line, as: UTF8.self)
  }
}

/// C strings that live as long as this.
private final class Texts {
  private let pointers: [UnsafeMutablePointer<CChar>?]

  init(_ texts: [String?]) { pointers = texts.map { $0.flatMap { strdup($0) } } }

  deinit { for pointer in pointers { free(pointer) } }

  subscript(index: Int) -> UnsafePointer<CChar>? { pointers[index].map { UnsafePointer($0) } }
}
