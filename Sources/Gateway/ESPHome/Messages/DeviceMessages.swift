/// What a client asks about a connection.
package enum DeviceRequest: Equatable, Sendable {
  /// Which addresses are connected, now and whenever that changes.
  case subscribeConnections
  case device(address: UInt64, Action, addressType: UInt8?)
  /// Intervals in units of 1.25 ms, the timeout in units of 10 ms.
  case setParameters(
    address: UInt64, minimum: UInt16, maximum: UInt16, latency: UInt16, timeout: UInt16)

  /// An action on a connection.
  package enum Action: UInt64, Sendable {
    /// An obsolete form, which ESPHome no longer carries out either.
    case connectOld = 0
    case disconnect = 1
    case pair = 2
    case unpair = 3
    /// The client knows the services already.
    case connectWithCache = 4
    case connectWithoutCache = 5
    case clearCache = 6
  }

  init?(type: UInt64, _ fields: ProtobufReader) throws(ProtobufError) {
    switch type {
    case 80: self = .subscribeConnections
    case 68: self = try Self.device(fields)
    case 145: self = try Self.parameters(fields)
    default: return nil
    }
  }

  private static func device(_ fields: ProtobufReader) throws(ProtobufError) -> DeviceRequest {
    var fields = fields
    var (address, action) = (UInt64(0), Action.connectOld)
    var (hasType, addressType) = (false, UInt8(0))
    while let field = try fields.next() {
      switch field.number {
      case 1: address = try field.integer()
      case 2:
        guard let known = Action(rawValue: try field.integer()) else { throw .value(field: 2) }
        action = known
      case 3: hasType = try field.flag()
      case 4: addressType = try field.integer(as: UInt8.self)
      default: break
      }
    }
    return .device(address: address, action, addressType: hasType ? addressType : nil)
  }

  private static func parameters(_ fields: ProtobufReader) throws(ProtobufError) -> DeviceRequest {
    var fields = fields
    var address: UInt64 = 0
    var values: [UInt16] = [0, 0, 0, 0]
    while let field = try fields.next() {
      switch field.number {
      case 1: address = try field.integer()
      case 2...5: values[field.number - 2] = try field.integer(as: UInt16.self)
      default: break
      }
    }
    return .setParameters(
      address: address, minimum: values[0], maximum: values[1], latency: values[2],
      timeout: values[3])
  }
}

/// What the server says about connections. Errors are ESP32 codes, see ``ESPError``.
package enum DeviceReport: ServerMessage {
  case connections(free: Int, limit: Int, allocated: [UInt64])
  case connection(address: UInt64, connected: Bool, mtu: Int, error: Int32)
  case paired(address: UInt64, Bool, error: Int32)
  case unpaired(address: UInt64, Bool, error: Int32)
  case cacheCleared(address: UInt64, Bool, error: Int32)
  case parametersSet(address: UInt64, error: Int32)

  package var type: UInt16 {
    switch self {
    case .connection: 69
    case .connections: 81
    case .paired: 85
    case .unpaired: 86
    case .cacheCleared: 88
    case .parametersSet: 146
    }
  }

  package func write(to body: inout ProtobufWriter) {
    switch self {
    case .connections(let free, let limit, let allocated):
      body.integer(1, UInt64(free))
      body.integer(2, UInt64(limit))
      body.integers(3, allocated)
    case .connection(let address, let connected, let mtu, let error):
      body.integer(1, address)
      body.flag(2, connected)
      body.integer(3, UInt64(mtu))
      body.signed(4, error)
    case .paired(let address, let done, let error), .unpaired(let address, let done, let error),
      .cacheCleared(let address, let done, let error):
      body.integer(1, address)
      body.flag(2, done)
      body.signed(3, error)
    case .parametersSet(let address, let error):
      body.integer(1, address)
      body.signed(2, error)
    }
  }
}
