import AttoATT
import AttoGATT

/// A service at a handle with one characteristic for each value given; every characteristic
/// takes two handles, so that the values are at `handle` + 2, + 4, and so on.
func service(
  _ uuid: BluetoothUUID, at handle: AttributeHandle,
  _ characteristics: CharacteristicDefinition...
) -> ServiceDefinition {
  ServiceDefinition(uuid, handle: handle, characteristics: characteristics)
}

/// A characteristic that can be read and written, if not otherwise said.
func value(
  _ uuid: BluetoothUUID, _ value: ValueDefinition,
  _ permissions: AttributePermissions = .readWrite,
  _ properties: CharacteristicProperties = [.read, .write],
  descriptors: [DescriptorDefinition] = []
) -> CharacteristicDefinition {
  CharacteristicDefinition(
    uuid, properties: properties, value: value, permissions: permissions,
    descriptors: descriptors)
}

/// The GATT service with all that a server offers: Service Changed at 0x0003 with its
/// configuration at 0x0004, Client Supported Features at 0x0006, the hash at 0x0008.
let genericAttributeService = ServiceDefinition(
  .genericAttribute, handle: 1,
  characteristics: [
    CharacteristicDefinition(.serviceChanged, properties: .indicate, value: .constant([])),
    CharacteristicDefinition(
      .clientSupportedFeatures, properties: [.read, .write], value: .clientSupportedFeatures),
    CharacteristicDefinition(.databaseHash, properties: .read, value: .databaseHash),
  ])
