import AttoATT

/// The Database Hash, with which a client checks whether its cached database is still valid. Vol 3,
/// Part G, 7.3.1.
enum DatabaseHash {
  /// AES-CMAC with a key of zeros over the structure of the database in handle order: handle,
  /// type and value of declarations and Extended Properties; handle and type of the other
  /// descriptors that the specification names.
  ///
  /// The result is least significant octet first, like all 128-bit numbers in PDUs.
  static func compute(_ table: AttributeTable, _ indices: Range<Int>) -> [UInt8] {
    var mac = AESCMAC(key: [UInt8](repeating: 0, count: 16))
    for index in indices {
      let attribute = table[index]
      switch attribute.type {
      case .primaryService, .secondaryService, .include, .characteristic,
        .characteristicExtendedProperties:
        mac.update(attribute.handle.octets)
        mac.update(attribute.type.octets)
        if let value = table.sharedValue(at: index) { mac.update(value) }
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

/// Computes a Database Hash from its input, least significant octet first, to check that of another
/// server. Vol 3, Part G, 7.3.1.
///
/// - Parameter input: for each attribute that the hash covers, in order of handle: its handle, its
///   type and, for declarations and Extended Properties, its value.
public func databaseHash(of input: [UInt8]) -> [UInt8] {
  var mac = AESCMAC(key: [UInt8](repeating: 0, count: 16))
  for octet in input { mac.update(octet) }
  return mac.finish().reversed()
}
