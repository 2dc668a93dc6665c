/// What a client asks of the session itself.
package enum SessionRequest: Equatable, Sendable {
  /// The first message: who the client is, and its version of the interface.
  case hello(client: String, major: UInt32, minor: UInt32)
  /// Passwords are obsolete: whatever was sent is accepted.
  case authentication
  /// The client will close.
  case disconnect
  /// The answer to our own disconnect.
  case disconnected
  case ping
  case pong
  case deviceInfo
  case capabilities
  case listEntities
  case subscribeStates
  case subscribeLogs
  case time
  /// The answer to a question that we do not ask.
  case timeIs

  init?(type: UInt64, _ fields: ProtobufReader) throws(ProtobufError) {
    switch type {
    case 1: self = try Self.hello(fields)
    case 3: self = .authentication
    case 5: self = .disconnect
    case 6: self = .disconnected
    case 7: self = .ping
    case 8: self = .pong
    case 9: self = .deviceInfo
    case 11: self = .listEntities
    case 20: self = .subscribeStates
    case 28: self = .subscribeLogs
    case 36: self = .time
    case 37: self = .timeIs
    case 149: self = .capabilities
    default: return nil
    }
  }

  private static func hello(_ fields: ProtobufReader) throws(ProtobufError) -> SessionRequest {
    var fields = fields
    var (client, major, minor) = ("", UInt32(0), UInt32(0))
    while let field = try fields.next() {
      switch field.number {
      case 1: client = try field.text()
      case 2: major = UInt32(truncatingIfNeeded: try field.integer())
      case 3: minor = UInt32(truncatingIfNeeded: try field.integer())
      default: break
      }
    }
    return .hello(client: client, major: major, minor: minor)
  }
}

/// What the server says about the session and itself.
package enum SessionAnswer: ServerMessage {
  case hello(major: UInt32, minor: UInt32, server: String, name: String)
  case authenticated
  case disconnect
  case disconnected
  case ping
  case pong
  case deviceInfo(DeviceInfo)
  /// The features of the proxy, and its address as text.
  case capabilities(flags: UInt32, address: String)
  case entitiesDone
  /// Seconds since 1970.
  case time(UInt32)

  package var type: UInt16 {
    switch self {
    case .hello: 2
    case .authenticated: 4
    case .disconnect: 5
    case .disconnected: 6
    case .ping: 7
    case .pong: 8
    case .deviceInfo: 10
    case .entitiesDone: 19
    case .time: 37
    case .capabilities: 150
    }
  }

  package func write(to body: inout ProtobufWriter) {
    switch self {
    case .hello(let major, let minor, let server, let name):
      body.integer(1, UInt64(major))
      body.integer(2, UInt64(minor))
      body.text(3, server)
      body.text(4, name)
    case .deviceInfo(let info): info.write(to: &body)
    case .capabilities(let flags, let address):
      body.message(1) {
        $0.integer(1, UInt64(flags))
        $0.text(2, address)
      }
    case .time(let seconds): body.fixed(1, seconds)
    case .authenticated, .disconnect, .disconnected, .ping, .pong, .entitiesDone: break
    }
  }
}

/// What Home Assistant shows of a proxy.
package struct DeviceInfo: Equatable, Sendable {
  package var name: String
  package var friendlyName: String
  /// Identifies the device: a MAC address as text, in capitals with colons.
  package var address: String
  /// The release of ESPHome whose interface this is. Home Assistant warns of releases that it
  /// considers too old for Bluetooth.
  package var esphomeVersion: String
  package var model: String
  package var manufacturer: String
  package var projectName: String
  package var projectVersion: String
  package var featureFlags: UInt32
  /// The address of the radio.
  package var bluetoothAddress: String
  package var isEncrypted: Bool

  func write(to body: inout ProtobufWriter) {
    body.text(2, name)
    body.text(3, address)
    body.text(4, esphomeVersion)
    body.text(6, model)
    body.text(8, projectName)
    body.text(9, projectVersion)
    body.text(12, manufacturer)
    body.text(13, friendlyName)
    body.integer(15, UInt64(featureFlags))
    body.text(18, bluetoothAddress)
    body.flag(19, isEncrypted)
  }
}
