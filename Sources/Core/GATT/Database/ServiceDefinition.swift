import AttoATT

/// A service to add to a database. Vol 3, Part G, 3.1.
///
/// Handles are optional. A given handle is used exactly; others are the next free ones.
public struct ServiceDefinition: Equatable, Sendable {
  /// The UUID.
  public var uuid: BluetoothUUID
  /// Whether this is a primary service, rather than one for other services to include.
  public var isPrimary: Bool
  /// The handle of the declaration.
  public var handle: AttributeHandle?
  /// The last handle of the service, if it is after the last attribute.
  public var endHandle: AttributeHandle?
  /// The included services.
  public var includes: [IncludeDefinition]
  /// The characteristics, in this order.
  public var characteristics: [CharacteristicDefinition]

  /// Creates a value with these properties.
  public init(
    _ uuid: BluetoothUUID, isPrimary: Bool = true, handle: AttributeHandle? = nil,
    endHandle: AttributeHandle? = nil, includes: [IncludeDefinition] = [],
    characteristics: [CharacteristicDefinition] = []
  ) {
    self.uuid = uuid
    self.isPrimary = isPrimary
    self.handle = handle
    self.endHandle = endHandle
    self.includes = includes
    self.characteristics = characteristics
  }
}

/// A reference to another service, which must be in the database unless `target` is given. Vol 3,
/// Part G, 3.2.
public struct IncludeDefinition: Equatable, Sendable {
  /// The handle of the include declaration.
  public var handle: AttributeHandle?
  /// The handle of the included service's declaration.
  public var service: AttributeHandle
  /// The end and UUID of a service that will be added later.
  public var target: Target?

  /// The end and UUID of a service that is not in the database yet.
  public struct Target: Equatable, Sendable {
    /// Its last handle.
    public var endHandle: AttributeHandle
    /// The UUID.
    public var uuid: BluetoothUUID
    /// Creates a value with these properties.
    public init(endHandle: AttributeHandle, uuid: BluetoothUUID) {
      self.endHandle = endHandle
      self.uuid = uuid
    }
  }

  /// Creates a value with these properties.
  public init(service: AttributeHandle, handle: AttributeHandle? = nil, target: Target? = nil) {
    self.service = service
    self.handle = handle
    self.target = target
  }
}

/// A characteristic of a service. Vol 3, Part G, 3.3.
public struct CharacteristicDefinition: Equatable, Sendable {
  /// The UUID.
  public var uuid: BluetoothUUID
  /// The properties in the declaration.
  public var properties: CharacteristicProperties
  /// The value.
  public var value: ValueDefinition
  /// The permissions of the value.
  public var permissions: AttributePermissions
  /// The handle of the declaration.
  public var handle: AttributeHandle?
  /// The handle of the value. The specification requires the one after the declaration.
  public var valueHandle: AttributeHandle?
  /// The descriptors, without the Client Characteristic Configuration, which is added
  /// automatically.
  public var descriptors: [DescriptorDefinition]
  /// Whether to add a Client Characteristic Configuration, as the first descriptor, if a property
  /// requires one and `descriptors` has none.
  public var addsConfiguration: Bool

  /// Creates a characteristic. Without `permissions`, they follow from the properties.
  public init(
    _ uuid: BluetoothUUID, properties: CharacteristicProperties,
    value: ValueDefinition = .stored([]), permissions: AttributePermissions? = nil,
    handle: AttributeHandle? = nil, valueHandle: AttributeHandle? = nil,
    descriptors: [DescriptorDefinition] = [], addsConfiguration: Bool = true
  ) {
    self.uuid = uuid
    self.properties = properties
    self.value = value
    self.permissions = permissions ?? Self.permissions(for: properties)
    self.handle = handle
    self.valueHandle = valueHandle
    self.descriptors = descriptors
    self.addsConfiguration = addsConfiguration
  }

  /// The permissions that follow from the properties: open in each direction that one allows.
  public static func permissions(
    for properties: CharacteristicProperties
  ) -> AttributePermissions {
    let writes: CharacteristicProperties = [
      .write, .writeWithoutResponse, .authenticatedSignedWrites,
    ]
    return AttributePermissions(
      read: properties.contains(.read) ? .open : .denied,
      write: properties.isDisjoint(with: writes) ? .denied : .open)
  }
}

/// A descriptor of a characteristic. Vol 3, Part G, 3.3.3.
public struct DescriptorDefinition: Equatable, Sendable {
  /// The UUID.
  public var uuid: BluetoothUUID
  /// The value. It is ignored for a Client Characteristic Configuration, which is stored for each
  /// client.
  public var value: ValueDefinition
  /// The permissions.
  public var permissions: AttributePermissions
  /// The handle; nil for the next free one.
  public var handle: AttributeHandle?

  /// Creates a value with these properties.
  public init(
    _ uuid: BluetoothUUID, value: ValueDefinition = .constant([]),
    permissions: AttributePermissions = .readOnly, handle: AttributeHandle? = nil
  ) {
    self.uuid = uuid
    self.value = value
    self.permissions = permissions
    self.handle = handle
  }
}

/// The source of a value.
public enum ValueDefinition: Equatable, Sendable {
  /// Stored by the server and not writable by clients.
  case constant([UInt8])
  /// Stored by the server and writable within limits.
  case stored([UInt8], ValueLimits)
  /// The application is asked each time.
  case application(ValueLimits)
  /// Stored by the server for each client; only in the Generic Attribute service.
  case clientSupportedFeatures
  /// Computed by the server; only in the Generic Attribute service.
  case databaseHash

  /// Stored by the server, with up to 512 octets.
  public static func stored(_ value: [UInt8]) -> ValueDefinition { .stored(value, ValueLimits()) }
}
