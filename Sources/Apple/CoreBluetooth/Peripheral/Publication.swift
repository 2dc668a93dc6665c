internal import Atto
import Foundation

/// A copy of a service at the moment it is added. Later changes by the app have no effect.
struct Publication {
  let service: CBMutableService
  let characteristics: [CBMutableCharacteristic]
  let includes: [CBService]
  private let parts: [CharacteristicDefinition]

  /// Traps, where Apple's framework raises an exception, for a characteristic that is not mutable, and
  /// for one with a value that is not read-only.
  init(_ service: CBMutableService) {
    self.service = service
    includes = service.includedServices ?? []
    characteristics = (service.characteristics ?? []).map { characteristic in
      guard let mutable = characteristic as? CBMutableCharacteristic else {
        preconditionFailure(
          "CBPeripheralManager.add(_:) was called with \(characteristic): use a"
            + " CBMutableCharacteristic")
      }
      return mutable
    }
    parts = characteristics.map(Self.definition)
  }

  /// - Parameter includes: the handles of the included services.
  func definition(includes: [AttributeHandle]) -> ServiceDefinition {
    ServiceDefinition(
      service.uuid.bluetooth, isPrimary: service.isPrimary,
      includes: includes.map { IncludeDefinition(service: $0) }, characteristics: parts)
  }

  /// Whether a characteristic may have a cached value: it must be read-only.
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
      "CBPeripheralManager.add(_:): a characteristic with a value must be read-only. Use the value nil and"
        + " answer didReceiveRead, or remove the write properties and permissions")
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
        preconditionFailure(
          "CBPeripheralManager.add(_:) was called with \(descriptor): use a CBMutableDescriptor")
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

  /// The properties on the wire. Apple's two own ones become notify and indicate.
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
