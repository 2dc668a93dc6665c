internal import Atto
import Foundation

/// What a service is at the moment in which it is added: nothing that the app changes later has
/// an effect.
struct Publication {
  let service: CBMutableService
  let characteristics: [CBMutableCharacteristic]
  let includes: [CBService]
  private let parts: [CharacteristicDefinition]

  /// Traps for what Apple's raises an exception for: a characteristic that is not of our own,
  /// and a cached value that could be written.
  init(_ service: CBMutableService) {
    self.service = service
    includes = service.includedServices ?? []
    characteristics = (service.characteristics ?? []).map { characteristic in
      guard let mutable = characteristic as? CBMutableCharacteristic else {
        preconditionFailure("only CBMutableCharacteristics can be published, not \(characteristic)")
      }
      return mutable
    }
    parts = characteristics.map(Self.definition)
  }

  /// - Parameter includes: the declarations of the included services, which were added before.
  func definition(includes: [AttributeHandle]) -> ServiceDefinition {
    ServiceDefinition(
      service.uuid.bluetooth, isPrimary: service.isPrimary,
      includes: includes.map { IncludeDefinition(service: $0) }, characteristics: parts)
  }

  /// Whether a value may be given once for all: it cannot be written.
  static func mayBeCached(
    _ properties: CBCharacteristicProperties, _ permissions: CBAttributePermissions
  ) -> Bool {
    properties.isDisjoint(with: [.write, .writeWithoutResponse, .authenticatedSignedWrites])
      && permissions.isDisjoint(with: [.writeable, .writeEncryptionRequired])
  }

  private static func definition(
    _ characteristic: CBMutableCharacteristic
  ) -> CharacteristicDefinition {
    let properties = characteristic.properties
    precondition(
      characteristic.value == nil || mayBeCached(properties, characteristic.permissions),
      "Characteristics with cached values must be read-only")
    var descriptors: [DescriptorDefinition] = []
    if properties.contains(.extendedProperties) {
      descriptors.append(DescriptorDefinition(0x2900, value: .constant([0, 0])))
    }
    if !properties.isDisjoint(with: [.notifyEncryptionRequired, .indicateEncryptionRequired]) {
      descriptors.append(
        DescriptorDefinition(
          .clientCharacteristicConfiguration,
          permissions: AttributePermissions(read: .open, write: encrypted)))
    }
    for descriptor in characteristic.descriptors ?? [] {
      guard let mutable = descriptor as? CBMutableDescriptor else {
        preconditionFailure("only CBMutableDescriptors can be published, not \(descriptor)")
      }
      descriptors.append(
        DescriptorDefinition(
          mutable.uuid.bluetooth,
          value: .constant(Array((mutable.state.value.octets ?? Data()).prefix(512)))))
    }
    return CharacteristicDefinition(
      characteristic.uuid.bluetooth, properties: onWire(properties),
      value: characteristic.value.map { .constant(Array($0.prefix(512))) }
        ?? .application(ValueLimits()),
      permissions: access(characteristic.permissions), descriptors: descriptors)
  }

  private static let encrypted = AttributePermissions.Access.requires(.init(security: .medium))

  /// The properties that travel: the two of Apple's own stand for the usual ones.
  private static func onWire(
    _ properties: CBCharacteristicProperties
  ) -> CharacteristicProperties {
    var raw = UInt8(truncatingIfNeeded: properties.rawValue & 0xFF)
    if properties.contains(.notifyEncryptionRequired) { raw |= 0x10 }
    if properties.contains(.indicateEncryptionRequired) { raw |= 0x20 }
    return CharacteristicProperties(rawValue: raw)
  }

  private static func access(_ permissions: CBAttributePermissions) -> AttributePermissions {
    AttributePermissions(
      read: permissions.contains(.readEncryptionRequired)
        ? encrypted : permissions.contains(.readable) ? .open : .denied,
      write: permissions.contains(.writeEncryptionRequired)
        ? encrypted : permissions.contains(.writeable) ? .open : .denied)
  }
}
