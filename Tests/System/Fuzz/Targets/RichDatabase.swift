import AttoATT
import AttoGATT

/// A database with everything that a server treats differently, in few attributes: values kept,
/// constant, of fixed length, long and the application's; every condition of access; UUIDs of both
/// widths; includes; gaps between handles; a service that is secondary and one that ends at
/// 0xFFFF.
enum RichDatabase {
  static let long = BluetoothUUID(high: 0x1234_5678_0000_4000, low: 0x8765_4321)

  private static func access(
    _ level: SecurityLevel, keySize: UInt8 = 0, authorization: Bool = false
  ) -> AttributePermissions.Access {
    .requires(.init(security: level, keySize: keySize, authorization: authorization))
  }

  static let services: [ServiceDefinition] = [
    // 0x0001 to 0x0003
    ServiceDefinition(
      0x1800,
      characteristics: [
        CharacteristicDefinition(0x2A00, properties: .read, value: .constant(Array("Rich".utf8)))
      ]),
    // 0x0004 to 0x000B
    ServiceDefinition(
      0x1801,
      characteristics: [
        CharacteristicDefinition(
          0x2A05, properties: .indicate, value: .constant([]), permissions: AttributePermissions()),
        CharacteristicDefinition(
          0x2B29, properties: [.read, .write], value: .clientSupportedFeatures),
        CharacteristicDefinition(0x2B2A, properties: .read, value: .databaseHash),
      ]),
    // 0x0010: what is kept.
    ServiceDefinition(
      0x180D, handle: 0x0010, includes: [IncludeDefinition(service: 0x0001)],
      characteristics: [
        CharacteristicDefinition(
          0xFF01, properties: [.read, .write, .writeWithoutResponse, .notify, .indicate],
          value: .stored([1, 2, 3], ValueLimits(maximumLength: 20)),
          descriptors: [
            DescriptorDefinition(
              0x2900, value: .stored([1, 0], ValueLimits(maximumLength: 2)),
              permissions: .readWrite),
            DescriptorDefinition(
              0x2901, value: .stored(Array("words".utf8)), permissions: .readOnly),
          ]),
        CharacteristicDefinition(
          0xFF02, properties: [.read, .write],
          value: .stored(
            [UInt8](repeating: 7, count: 8), ValueLimits(maximumLength: 8, isFixedLength: true))),
        CharacteristicDefinition(
          long, properties: [.read, .write],
          value: .stored([UInt8](repeating: 0x31, count: 300), ValueLimits(maximumLength: 512))),
        CharacteristicDefinition(
          0xFF03, properties: [.read, .authenticatedSignedWrites],
          value: .stored([], ValueLimits(maximumLength: 40))),
      ]),
    // 0x0020: what the application has.
    ServiceDefinition(
      long, handle: 0x0020,
      characteristics: [
        CharacteristicDefinition(
          0xFF01, properties: [.read, .write, .notify],
          value: .application(ValueLimits(maximumLength: 60))),
        CharacteristicDefinition(
          0xFF04, properties: [.read, .write, .writeWithoutResponse],
          value: .application(ValueLimits(maximumLength: 512)),
          permissions: AttributePermissions(
            read: access(.low, authorization: true), write: access(.low, authorization: true))),
      ]),
    // 0x0028: who may.
    ServiceDefinition(
      0x180A, isPrimary: false, handle: 0x0028, endHandle: 0x003F,
      includes: [IncludeDefinition(service: 0x0020)],
      characteristics: [
        CharacteristicDefinition(
          0xFF05, properties: [.read, .write, .indicate], value: .stored([5]),
          permissions: AttributePermissions(read: access(.medium), write: access(.high))),
        CharacteristicDefinition(
          0xFF06, properties: [.read, .notify], value: .stored([6]),
          permissions: AttributePermissions(read: access(.medium, keySize: 16), write: .denied)),
        CharacteristicDefinition(
          0xFF07, properties: [.write], value: .stored([7]),
          permissions: AttributePermissions(
            read: .denied, write: access(.fips, authorization: true))),
      ]),
    // At the end of all handles.
    ServiceDefinition(
      0xFFF0, handle: 0xFFF8, endHandle: 0xFFFF,
      characteristics: [
        CharacteristicDefinition(0xFF01, properties: [.read, .write], value: .stored([9]))
      ]),
  ]
}
