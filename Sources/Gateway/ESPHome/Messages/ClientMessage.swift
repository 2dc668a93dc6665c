/// A message from a client, of those that a Bluetooth proxy has to know.
package enum ClientMessage: Equatable, Sendable {
  case session(SessionRequest)
  case advertisements(AdvertisementRequest)
  case device(DeviceRequest)
  case attribute(AttributeRequest)
  case action(ActionRequest)

  /// Reads a message. Nil if its type is none of those; it is ignored then, as ESPHome's own server
  /// does.
  package init?(type: UInt64, _ body: ArraySlice<UInt8>) throws(ProtobufError) {
    let fields = ProtobufReader(body)
    if let request = try SessionRequest(type: type, fields) {
      self = .session(request)
    } else if let request = try AdvertisementRequest(type: type, fields) {
      self = .advertisements(request)
    } else if let request = try DeviceRequest(type: type, fields) {
      self = .device(request)
    } else if let request = try AttributeRequest(type: type, fields) {
      self = .attribute(request)
    } else if let request = try ActionRequest(type: type, fields) {
      self = .action(request)
    } else {
      return nil
    }
  }
}

/// A message to a client.
package protocol ServerMessage: Equatable, Sendable {
  var type: UInt16 { get }
  func write(to body: inout ProtobufWriter)
}

extension ServerMessage {
  /// The message as it is sent.
  package var body: [UInt8] {
    var writer = ProtobufWriter()
    write(to: &writer)
    return writer.octets
  }
}
