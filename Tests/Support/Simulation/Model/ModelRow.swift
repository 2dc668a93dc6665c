import AttoGATT

/// An attribute of ``ServerModel``, in octets.
///
/// The model shares only the service definitions with the server that it checks, and no code.
struct ModelRow {
  let handle: UInt16
  /// The type in 2 or 16 octets, least significant first.
  let type: [UInt8]
  let permissions: AttributePermissions
  var groupEnd: UInt16
  var kind: Kind
  /// The handle of the configuration, if this is the value of a characteristic that has one.
  var configuration: UInt16?

  enum Kind {
    case constant([UInt8])
    case stored([UInt8], ValueLimits)
    case application(ValueLimits)
    case configuration(offered: UInt16, value: UInt16)
    case features
    case hash
  }

  var isService: Bool { type == Self.primary || type == Self.secondary }

  static let primary: [UInt8] = [0x00, 0x28]
  static let secondary: [UInt8] = [0x01, 0x28]
  static let include: [UInt8] = [0x02, 0x28]
  static let characteristic: [UInt8] = [0x03, 0x28]
  static let configurationType: [UInt8] = [0x02, 0x29]
  static let extendedProperties: [UInt8] = [0x00, 0x29]
  static let serviceChanged: [UInt8] = [0x05, 0x2A]
  static let databaseHash: [UInt8] = [0x2A, 0x2B]
}

/// Little-endian octets of a number.
func octets(_ value: UInt16) -> [UInt8] { [UInt8(value & 0xFF), UInt8(value >> 8)] }

/// The number at an offset, least significant octet first.
func number(_ octets: [UInt8], _ offset: Int) -> UInt16 {
  UInt16(octets[offset]) | UInt16(octets[offset + 1]) << 8
}

/// A UUID in its shortest form: 2 octets if it is derived from the Base UUID.
func shortest(_ uuid: [UInt8]) -> [UInt8] {
  let base: [UInt8] = [
    0xFB, 0x34, 0x9B, 0x5F, 0x80, 0x00, 0x00, 0x80, 0x00, 0x10, 0x00, 0x00,
  ]
  guard uuid.count == 16, Array(uuid[..<12]) == base, uuid[14] == 0, uuid[15] == 0 else {
    return uuid
  }
  return Array(uuid[12..<14])
}
