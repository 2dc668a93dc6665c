import Atto

/// The form of `discover --json`.
struct DatabaseJSON: Encodable {
  let services: [ServiceJSON]

  init(_ database: RemoteDatabase) { services = database.services.map { ServiceJSON($0) } }
}

struct ServiceJSON: Encodable {
  let handle: Int
  let endHandle: Int
  let uuid: String
  let primary: Bool
  let includes: [IncludeJSON]
  let characteristics: [CharacteristicJSON]

  init(_ service: Service) {
    handle = Shown.json(service.handle)
    endHandle = Shown.json(service.endGroupHandle)
    uuid = Shown.json(service.uuid)
    primary = service.isPrimary
    includes = service.includes.map { IncludeJSON($0) }
    characteristics = service.characteristics.map { CharacteristicJSON($0) }
  }
}

struct IncludeJSON: Encodable {
  let handle: Int
  let startHandle: Int
  let endHandle: Int
  let uuid: String

  init(_ include: IncludedService) {
    handle = Shown.json(include.handle)
    startHandle = Shown.json(include.startHandle)
    endHandle = Shown.json(include.endGroupHandle)
    uuid = Shown.json(include.uuid)
  }
}

struct CharacteristicJSON: Encodable {
  let handle: Int
  let valueHandle: Int
  let properties: [String]
  let uuid: String
  let descriptors: [DescriptorJSON]

  init(_ characteristic: Characteristic) {
    handle = Shown.json(characteristic.handle)
    valueHandle = Shown.json(characteristic.valueHandle)
    properties = Shown.properties(characteristic.properties)
    uuid = Shown.json(characteristic.uuid)
    descriptors = characteristic.descriptors.map { DescriptorJSON($0) }
  }
}

struct DescriptorJSON: Encodable {
  let handle: Int
  let uuid: String

  init(_ descriptor: Descriptor) {
    handle = Shown.json(descriptor.handle)
    uuid = Shown.json(descriptor.uuid)
  }
}
