import Atto
import AttoATT
import AttoGATT

/// The services of a device as local programs see them: the device's handles, and values that are read
/// from the device and written to it. Client Characteristic Configurations are each program's own.
struct LocalDatabase {
  let database: Database
  /// The values and descriptors that the device has.
  let handles: [AttributeHandle]

  /// - Throws: `DatabaseError` if the device breaks a rule that servers keep.
  init(_ remote: RemoteDatabase) throws(DatabaseError) {
    var database = Database()
    var handles: [AttributeHandle] = []
    for service in remote.services {
      let isGATT = service.uuid == .genericAttribute
      try database.add(
        ServiceDefinition(
          service.uuid, isPrimary: service.isPrimary, handle: service.handle,
          endHandle: service.endGroupHandle,
          includes: service.includes.map {
            IncludeDefinition(
              service: $0.startHandle, handle: $0.handle,
              target: IncludeDefinition.Target(endHandle: $0.endGroupHandle, uuid: $0.uuid))
          },
          characteristics: service.characteristics.map { characteristic in
            Self.definition(of: characteristic, isGATT: isGATT, &handles)
          }))
    }
    self.database = database
    self.handles = handles
  }

  private static func definition(
    of characteristic: Characteristic, isGATT: Bool, _ handles: inout [AttributeHandle]
  ) -> CharacteristicDefinition {
    var value = ValueDefinition.application(ValueLimits())
    // What a client announces of itself is nothing for the device, which has another client.
    if isGATT, characteristic.uuid == .clientSupportedFeatures {
      value = .clientSupportedFeatures
    } else if isGATT, characteristic.uuid == .databaseHash {
      value = .databaseHash
    } else {
      handles.append(characteristic.valueHandle)
    }
    let descriptors = characteristic.descriptors.map { descriptor in
      if descriptor.uuid != .clientCharacteristicConfiguration { handles.append(descriptor.handle) }
      return DescriptorDefinition(
        descriptor.uuid, value: .application(ValueLimits()), permissions: .readWrite,
        handle: descriptor.handle)
    }
    return CharacteristicDefinition(
      characteristic.uuid, properties: characteristic.properties, value: value,
      handle: characteristic.declarationHandle, valueHandle: characteristic.valueHandle,
      descriptors: descriptors, addsConfiguration: false)
  }
}
