import ATT
import GATT

/// A profile turned into the database of a server, with what is left to the program that runs
/// the server.
public struct ProfileDatabase: Sendable {
  /// What a server serves.
  public let database: Database
  /// Where everything of the profile is.
  public let layout: ProfileLayout
  /// The values that do something by themselves, in the order of their handles.
  public let behaviours: [Behaved]

  /// A value with a behaviour: what a player of the profile needs to know of it.
  public struct Behaved: Sendable, Equatable {
    /// Of the value.
    public let handle: AttributeHandle
    /// What it does by itself.
    public let behaviour: Profile.Behaviour
    /// The value that an echo goes to.
    public let echo: AttributeHandle?
    /// The value at the start.
    public let value: [UInt8]
    /// How long its value may be.
    public let limits: ValueLimits
    /// Whether the database asks the application for the value and hands writes to it. If not,
    /// the value is kept in the database, and only its notifications are the application's.
    public let isApplication: Bool
  }
}

extension Profile {
  /// Lays the profile out and builds its database: exact handles, permissions and values, and
  /// the automatic GAP and GATT services. Vol 3, Part C, 12 and Part G, 7.
  ///
  /// In a GATT service that the profile lists itself, Client Supported Features and a Database
  /// Hash without a value are the server's own, too.
  ///
  /// - Parameter name: the Device Name where the profile states none; cut to 248 octets.
  /// - Throws: what `layout()` throws.
  public func database(name: String = "Atto") throws(ProfileError) -> ProfileDatabase {
    let layout = try layout()
    let builder = ProfileDatabaseBuilder(layout)
    let definitions = definitions(layout, builder.definitions, name: name)
    var database = Database()
    for definition in definitions {
      do throws(DatabaseError) {
        try database.add(definition)
      } catch {
        throw ProfileError(
          ProfilePath() / "services", expected: "services that fit beside each other",
          found: "\(error)")
      }
    }
    return ProfileDatabase(database: database, layout: layout, behaviours: builder.behaviours)
  }

  /// The services of the profile alone, without the automatic ones: to be added to a server
  /// that runs. Where the profile states no handles, all are moved together to begin at `start`.
  ///
  /// - Throws: ``ProfileError`` if the services do not fit from there on.
  public func definitions(
    from start: AttributeHandle
  ) throws(ProfileError) -> [ServiceDefinition] {
    let definitions = ProfileDatabaseBuilder(try layout()).definitions
    guard !statesHandles, let first = definitions.first?.handle else { return definitions }
    return definitions.map { $0.moved(by: Int(start.rawValue) - Int(first.rawValue)) }
  }

  private var statesHandles: Bool {
    services.contains { service in
      service.handle != nil || service.endHandle != nil
        || service.includes.contains { $0.handle != nil }
        || service.characteristics.contains { characteristic in
          characteristic.handle != nil || characteristic.valueHandle != nil
            || characteristic.descriptors.contains { $0.handle != nil }
        }
    }
  }

  private func definitions(
    _ layout: ProfileLayout, _ own: [ServiceDefinition], name: String
  ) -> [ServiceDefinition] {
    var definitions = own
    if let range = layout.automaticServices.genericAccess {
      definitions.append(
        ServiceDefinition.genericAccess(
          at: range, name: self.name ?? name, appearance: advertising?.appearance ?? 0))
    }
    if let range = layout.automaticServices.genericAttribute {
      definitions.append(ServiceDefinition.genericAttribute(at: range))
    }
    definitions.sort { ($0.handle ?? .min) < ($1.handle ?? .min) }
    return definitions
  }
}

extension ServiceDefinition {
  /// Device Name and Appearance, as constants. Vol 3, Part C, 12.
  static func genericAccess(
    at range: HandleRange, name: String, appearance: UInt16
  ) -> ServiceDefinition {
    ServiceDefinition(
      .genericAccess, handle: range.start, endHandle: range.end,
      characteristics: [
        CharacteristicDefinition(
          .deviceName, properties: .read, value: .constant(Array(name.utf8.prefix(248)))),
        CharacteristicDefinition(
          .appearance, properties: .read,
          value: .constant([UInt8(appearance & 0xFF), UInt8(appearance >> 8)])),
      ])
  }

  /// Service Changed, Client Supported Features, Database Hash and Server Supported Features
  /// (none: enhanced bearers are not offered). Vol 3, Part G, 7.
  static func genericAttribute(at range: HandleRange) -> ServiceDefinition {
    ServiceDefinition(
      .genericAttribute, handle: range.start, endHandle: range.end,
      characteristics: [
        CharacteristicDefinition(
          .serviceChanged, properties: .indicate, value: .constant([0x01, 0x00, 0xFF, 0xFF])),
        CharacteristicDefinition(
          .clientSupportedFeatures, properties: [.read, .write], value: .clientSupportedFeatures),
        CharacteristicDefinition(.databaseHash, properties: .read, value: .databaseHash),
        CharacteristicDefinition(
          .serverSupportedFeatures, properties: .read, value: .constant([0])),
      ])
  }
}

/// Walks the attributes of a layout once, in order, and gathers them into services again.
private struct ProfileDatabaseBuilder {
  private(set) var definitions: [ServiceDefinition] = []
  private(set) var behaviours: [ProfileDatabase.Behaved] = []

  init(_ layout: ProfileLayout) {
    for attribute in layout.attributes { take(attribute) }
  }

  private mutating func take(_ attribute: ProfileLayout.Attribute) {
    if case .service(let service) = attribute.content {
      definitions.append(
        ServiceDefinition(
          service.uuid, isPrimary: service.isPrimary, handle: service.range.start,
          endHandle: service.range.end))
      return
    }
    let service = definitions.count - 1
    let characteristic = definitions[service].characteristics.count - 1
    switch attribute.content {
    case .service: break
    case .include(let target):
      definitions[service].includes.append(
        IncludeDefinition(
          service: target.range.start, handle: attribute.handle,
          target: IncludeDefinition.Target(endHandle: target.range.end, uuid: target.uuid)))
    case .characteristic(let properties, let valueHandle, let uuid):
      definitions[service].characteristics.append(
        CharacteristicDefinition(
          uuid, properties: CharacteristicProperties(rawValue: properties.rawValue),
          handle: attribute.handle, valueHandle: valueHandle, addsConfiguration: false))
    case .value(let storage, let behaviour, let echo):
      definitions[service].characteristics[characteristic].permissions =
        storage.attributePermissions
      definitions[service].characteristics[characteristic].value = value(
        attribute, storage, behaviour, echo: echo, in: definitions[service].uuid)
    case .descriptor(let storage), .clientConfiguration(let storage):
      definitions[service].characteristics[characteristic].descriptors.append(
        DescriptorDefinition(
          attribute.type, value: .stored(storage.bytes, storage.limits),
          permissions: storage.attributePermissions, handle: attribute.handle))
    }
  }

  private mutating func value(
    _ attribute: ProfileLayout.Attribute, _ storage: ProfileLayout.Storage,
    _ behaviour: Profile.Behaviour?, echo: AttributeHandle?, in service: BluetoothUUID
  ) -> ValueDefinition {
    if let behaviour {
      let isApplication = behaviour.needsApplication
      behaviours.append(
        ProfileDatabase.Behaved(
          handle: attribute.handle, behaviour: behaviour, echo: echo, value: storage.bytes,
          limits: storage.limits, isApplication: isApplication))
      if isApplication { return .application(storage.limits) }
    }
    switch attribute.type {
    case .clientSupportedFeatures where service == .genericAttribute:
      return .clientSupportedFeatures
    case .databaseHash where service == .genericAttribute && storage.bytes.isEmpty:
      return .databaseHash
    default: return .stored(storage.bytes, storage.limits)
    }
  }
}

extension Profile.Behaviour {
  /// Whether reads and writes of the value are more than those of a kept value.
  fileprivate var needsApplication: Bool {
    readError != nil || writeError != nil || delay != nil || echo != nil || counter != nil
      || isSink || streamSize != nil || burst?.trigger == .write
  }
}

extension ProfileLayout.Storage {
  fileprivate var limits: ValueLimits {
    ValueLimits(maximumLength: maxLength, isFixedLength: isFixedLength)
  }

  fileprivate var attributePermissions: AttributePermissions {
    AttributePermissions(
      read: access(
        .anyRead, encrypted: .readEncrypted, authenticated: .readAuthenticated,
        secure: .readSecure, authorized: .readAuthorized),
      write: access(
        .anyWrite, encrypted: .writeEncrypted, authenticated: .writeAuthenticated,
        secure: .writeSecure, authorized: .writeAuthorized))
  }

  /// The conditions of one direction hold together; the key's size is asked for only where
  /// encryption is.
  private func access(
    _ any: Profile.Permissions, encrypted: Profile.Permissions,
    authenticated: Profile.Permissions, secure: Profile.Permissions,
    authorized: Profile.Permissions
  ) -> AttributePermissions.Access {
    guard !permissions.isDisjoint(with: any) else { return .denied }
    var requirement = AttributePermissions.Requirement()
    if permissions.contains(encrypted) { requirement.security = .medium }
    if permissions.contains(authenticated) { requirement.security = .high }
    if permissions.contains(secure) { requirement.security = .fips }
    if requirement.security > .low { requirement.keySize = keySize ?? 0 }
    requirement.authorization = permissions.contains(authorized)
    return .requires(requirement)
  }
}

extension ServiceDefinition {
  /// The same with all handles moved. What would leave the space of handles becomes 0x0000,
  /// which no database takes.
  fileprivate func moved(by distance: Int) -> ServiceDefinition {
    func move(_ handle: AttributeHandle?) -> AttributeHandle? {
      handle.map { AttributeHandle(UInt16(exactly: Int($0.rawValue) + distance) ?? 0) }
    }
    var moved = self
    moved.handle = move(handle)
    moved.endHandle = move(endHandle)
    for index in includes.indices {
      moved.includes[index].handle = move(includes[index].handle)
      moved.includes[index].service = move(includes[index].service) ?? .invalid
      moved.includes[index].target?.endHandle =
        move(includes[index].target?.endHandle) ?? .invalid
    }
    for index in characteristics.indices {
      moved.characteristics[index].handle = move(characteristics[index].handle)
      moved.characteristics[index].valueHandle = move(characteristics[index].valueHandle)
      for descriptor in characteristics[index].descriptors.indices {
        moved.characteristics[index].descriptors[descriptor].handle =
          move(characteristics[index].descriptors[descriptor].handle)
      }
    }
    return moved
  }
}
