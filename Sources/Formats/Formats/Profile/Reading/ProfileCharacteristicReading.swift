import AttoATT
import AttoGATT

extension Profile.Characteristic {
  init(_ field: ProfileField) throws(ProfileError) {
    let object = try ProfileObject(
      field,
      keys: [
        "uuid", "handle", "valueHandle", "properties", "value", "maxLength", "fixedLength",
        "permissions", "keySize", "cccd", "descriptors", "behaviour",
      ])
    let uuid = try object.required("uuid", "the characteristic's UUID").attributeType
    let handle = try object["handle"]?.handle
    let valueHandle = try object["valueHandle"]?.handle
    var properties: CharacteristicProperties = []
    var extended: Profile.ExtendedProperties = []
    let names =
      CharacteristicProperties.names.map(\.name) + Profile.ExtendedProperties.names.map(\.name)
    for word in try object["properties"]?.words(names) ?? [] {
      for (name, property) in CharacteristicProperties.names where name == word {
        properties.insert(property)
      }
      for (name, property) in Profile.ExtendedProperties.names where name == word {
        properties.insert(.extendedProperties)
        extended.insert(property)
      }
    }
    let value = try object.value()
    definition = CharacteristicDefinition(
      uuid, properties: properties, value: .stored(value.octets, value.limits),
      permissions: try object.permissions(), handle: handle, valueHandle: valueHandle,
      descriptors: try Self.descriptors(object, extended), addsConfiguration: false)
    addedDescriptors = try Self.addedDescriptors(object, definition, extended)
    behaviour = try object["behaviour"].map { field throws(ProfileError) in
      try Profile.Behaviour(field, of: definition, initially: value.octets)
    }
  }

  private static func descriptors(
    _ object: ProfileObject, _ extended: Profile.ExtendedProperties
  ) throws(ProfileError) -> [DescriptorDefinition] {
    // The descriptors that a characteristic may have once.
    let unique: [BluetoothUUID] = [0x2900, 0x2901, 0x2902, 0x2903, 0x2905]
    var descriptors: [DescriptorDefinition] = []
    for field in try object["descriptors"]?.list ?? [] {
      let descriptor = try DescriptorDefinition(field, extended)
      let uuid = descriptor.uuid
      guard !unique.contains(uuid) || !descriptors.contains(where: { $0.uuid == uuid }) else {
        throw ProfileError(
          field.path / "uuid", expected: "one descriptor \(uuid) in a characteristic",
          found: "another")
      }
      descriptors.append(descriptor)
    }
    return descriptors
  }

  /// The descriptors that the properties require and the file does not list.
  private static func addedDescriptors(
    _ object: ProfileObject, _ definition: CharacteristicDefinition,
    _ extended: Profile.ExtendedProperties
  ) throws(ProfileError) -> [DescriptorDefinition] {
    func lists(_ uuid: BluetoothUUID) -> Bool {
      definition.descriptors.contains { $0.uuid == uuid }
    }
    let isSubscribable = !definition.properties.isDisjoint(with: [.notify, .indicate])
    let listsConfiguration = lists(.clientCharacteristicConfiguration)
    let addsConfiguration = try object["cccd"]?.bool ?? true
    if let field = object["cccd"], addsConfiguration ? !isSubscribable : listsConfiguration {
      throw ProfileError(
        field.path,
        expected: addsConfiguration
          ? "the property notify or indicate for a CCCD" : "no CCCD in \"descriptors\"",
        found: "\"cccd\": \(field.node.found)")
    }
    var added: [DescriptorDefinition] = []
    if addsConfiguration, isSubscribable, !listsConfiguration {
      added.append(
        DescriptorDefinition(.clientCharacteristicConfiguration, permissions: .readWrite))
    }
    if definition.properties.contains(.extendedProperties),
      !lists(.characteristicExtendedProperties)
    {
      added.append(
        DescriptorDefinition(
          .characteristicExtendedProperties, value: .constant(extended.octets)))
    }
    return added
  }
}

extension DescriptorDefinition {
  /// - Parameter extended: the extended properties of the characteristic.
  fileprivate init(
    _ field: ProfileField, _ extended: Profile.ExtendedProperties
  ) throws(ProfileError) {
    let object = try ProfileObject(
      field,
      keys: ["uuid", "handle", "value", "maxLength", "fixedLength", "permissions", "keySize"])
    let uuid = try object.required("uuid", "the descriptor's UUID").attributeType
    let handle = try object["handle"]?.handle
    let value = try object.value()
    var permissions = AttributePermissions.readOnly
    switch uuid {
    case .clientCharacteristicConfiguration:
      permissions = .readWrite
      guard value.octets.isEmpty || value.octets == [0, 0] else {
        throw ProfileError(
          field.path / "value",
          expected: "no value, because each client has its own, initially 0000",
          found: Hex.text(value.octets))
      }
    case .characteristicUserDescription where extended.contains(.writableAuxiliaries):
      permissions = .readWrite
    case .characteristicExtendedProperties where !extended.isEmpty:
      guard value.octets == extended.octets else {
        throw ProfileError(
          field.path / "value",
          expected: "hex:\(Hex.text(extended.octets)), as in the characteristic's properties",
          found: value.octets.isEmpty ? "none" : Hex.text(value.octets))
      }
    default: break
    }
    self.init(
      uuid, value: .stored(value.octets, value.limits),
      permissions: try object.permissions() ?? permissions, handle: handle)
  }
}
