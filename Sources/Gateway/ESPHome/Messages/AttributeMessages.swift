/// What a client asks of a connected device's attributes. Handles are those of values and descriptors.
package enum AttributeRequest: Equatable, Sendable {
  case services(address: UInt64)
  case read(Attribute)
  case write(Attribute, [UInt8], withResponse: Bool)
  case writeDescriptor(Attribute, [UInt8])
  /// Whether values are to be passed on. The client writes the descriptor that makes the device send
  /// them itself.
  case notify(Attribute, Bool)

  /// An attribute of a device.
  package struct Attribute: Hashable, Sendable {
    package var address: UInt64 = 0
    /// As the client sent it. Any 32 bits.
    package var handle: UInt32 = 0

    package init(address: UInt64 = 0, handle: UInt32 = 0) {
      self.address = address
      self.handle = handle
    }
  }

  init?(type: UInt64, _ fields: ProtobufReader) throws(ProtobufError) {
    guard [70, 73, 75, 76, 77, 78].contains(type) else { return nil }
    let dataField = type == 75 ? 4 : type == 77 ? 3 : 0
    let flagField = type == 75 || type == 78 ? 3 : 0
    var fields = fields
    var (attribute, flag, data) = (Attribute(), false, [UInt8]())
    while let field = try fields.next() {
      switch field.number {
      case 1: attribute.address = try field.integer()
      case 2 where type != 70: attribute.handle = UInt32(truncatingIfNeeded: try field.integer())
      case flagField: flag = try field.flag()
      case dataField: data = try field.data()
      default: break
      }
    }
    switch type {
    case 70: self = .services(address: attribute.address)
    case 75: self = .write(attribute, data, withResponse: flag)
    case 77: self = .writeDescriptor(attribute, data)
    case 78: self = .notify(attribute, flag)
    default: self = .read(attribute)
    }
  }
}

/// What the server says about attributes.
package enum AttributeReport: ServerMessage {
  case services(address: UInt64, [ServiceReport])
  case servicesDone(address: UInt64)
  case read(AttributeRequest.Attribute, [UInt8])
  case written(AttributeRequest.Attribute)
  case notifying(AttributeRequest.Attribute)
  case value(AttributeRequest.Attribute, [UInt8])
  case error(AttributeRequest.Attribute, Int32)

  package var type: UInt16 {
    switch self {
    case .services: 71
    case .servicesDone: 72
    case .read: 74
    case .value: 79
    case .error: 82
    case .written: 83
    case .notifying: 84
    }
  }

  package func write(to body: inout ProtobufWriter) {
    switch self {
    case .services(let address, let services):
      body.integer(1, address)
      for service in services { body.message(2) { service.write(to: &$0) } }
    case .servicesDone(let address): body.integer(1, address)
    case .read(let attribute, let octets), .value(let attribute, let octets):
      attribute.write(to: &body)
      body.data(3, octets)
    case .written(let attribute), .notifying(let attribute): attribute.write(to: &body)
    case .error(let attribute, let code):
      attribute.write(to: &body)
      body.signed(3, code)
    }
  }
}

extension AttributeRequest.Attribute {
  func write(to body: inout ProtobufWriter) {
    body.integer(1, address)
    body.integer(2, UInt64(handle))
  }
}
