import ATT

/// The Database Hash: what tells a client, in one read, whether the database it remembers is
/// still the one it meets. Vol 3, Part G, 7.3.1.
enum DatabaseHash {
  /// AES-CMAC with a key of zeros over the structure of the database in handle order: handle,
  /// type and value of declarations and Extended Properties; handle and type of the other
  /// descriptors that the specification names.
  ///
  /// The result is least significant octet first, as all numbers of 128 bits travel.
  static func compute(_ attributes: some Sequence<Attribute>) -> [UInt8] {
    var mac = AESCMAC(key: [UInt8](repeating: 0, count: 16))
    for attribute in attributes {
      switch attribute.type {
      case .primaryService, .secondaryService, .include, .characteristic,
        .characteristicExtendedProperties:
        mac.update(attribute.handle.octets)
        mac.update(attribute.type.octets)
        switch attribute.storage {
        case .constant(let value), .stored(let value, _): mac.update(value)
        default: break
        }
      case .characteristicUserDescription, .clientCharacteristicConfiguration,
        .serverCharacteristicConfiguration, .characteristicPresentationFormat,
        .characteristicAggregateFormat:
        mac.update(attribute.handle.octets)
        mac.update(attribute.type.octets)
      default: break
      }
    }
    return mac.finish().reversed()
  }
}

/// The Database Hash of what its input is, as it goes on the wire: least significant octet
/// first. For those who check another server's. Vol 3, Part G, 7.3.1.
///
/// - Parameter input: for each attribute of a type that counts, in order of handle: handle, type
///   and, for declarations and Extended Properties, value.
public func databaseHash(of input: [UInt8]) -> [UInt8] {
  var mac = AESCMAC(key: [UInt8](repeating: 0, count: 16))
  for octet in input { mac.update(octet) }
  return mac.finish().reversed()
}
