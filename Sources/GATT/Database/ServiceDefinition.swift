import ATT

/// A service to add to a database. Vol 3, Part G, 3.1.
///
/// Handles are optional: a given one is honoured exactly, others are the next free ones.
public struct ServiceDefinition: Equatable, Sendable {
  /// What it is.
  public var uuid: BluetoothUUID
  /// Whether it is discovered by itself, and not only where another includes it.
  public var isPrimary: Bool
  /// Of the declaration.
  public var handle: AttributeHandle?
  /// The last handle of the service, where it shall be later than the last attribute.
  public var endHandle: AttributeHandle?
  /// The services that this one refers to.
  public var includes: [IncludeDefinition]
  /// What it consists of, in this order.
  public var characteristics: [CharacteristicDefinition]

  /// One with these values; its properties say what each means.
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

/// A reference to another service, which must be in the database already unless its end is
/// given. Vol 3, Part G, 3.2.
public struct IncludeDefinition: Equatable, Sendable {
  /// Of the include declaration itself.
  public var handle: AttributeHandle?
  /// The included service's declaration.
  public var service: AttributeHandle
  /// For a service that will be added later: its end and type.
  public var target: Target?

  /// A service that is not in the database yet.
  public struct Target: Equatable, Sendable {
    /// Its last handle.
    public var endHandle: AttributeHandle
    /// What it is.
    public var uuid: BluetoothUUID
    /// One with these values; its properties say what each means.
    public init(endHandle: AttributeHandle, uuid: BluetoothUUID) {
      self.endHandle = endHandle
      self.uuid = uuid
    }
  }

  /// One with these values; its properties say what each means.
  public init(service: AttributeHandle, handle: AttributeHandle? = nil, target: Target? = nil) {
    self.service = service
    self.handle = handle
    self.target = target
  }
}

/// A characteristic of a service. Vol 3, Part G, 3.3.
public struct CharacteristicDefinition: Equatable, Sendable {
  /// What it is.
  public var uuid: BluetoothUUID
  /// What its declaration says may be done with its value.
  public var properties: CharacteristicProperties
  /// Where its value comes from.
  public var value: ValueDefinition
  /// Who may read and write its value.
  public var permissions: AttributePermissions
  /// Of the declaration.
  public var handle: AttributeHandle?
  /// Of the value; the specification wants it right after the declaration.
  public var valueHandle: AttributeHandle?
  /// Besides the Client Characteristic Configuration, which comes by itself.
  public var descriptors: [DescriptorDefinition]
  /// Whether a Client Characteristic Configuration is added, as the first descriptor, where a
  /// property asks for one and `descriptors` has none.
  public var addsConfiguration: Bool

  /// - Parameter permissions: nil to follow from the properties.
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

  /// Open in each direction that a property offers.
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
  /// What it is.
  public var uuid: BluetoothUUID
  /// Not used by a Client Characteristic Configuration, whose value is kept per client.
  public var value: ValueDefinition
  /// Who may read and write it.
  public var permissions: AttributePermissions
  /// Where it shall be; nil: at the next free handle.
  public var handle: AttributeHandle?

  /// One with these values; its properties say what each means.
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

/// Where a value comes from.
public enum ValueDefinition: Equatable, Sendable {
  /// Kept by the server, never written by a client.
  case constant([UInt8])
  /// Kept by the server and written within limits.
  case stored([UInt8], ValueLimits)
  /// The application is asked each time.
  case application(ValueLimits)
  /// Kept per client by the server; only in the Generic Attribute service.
  case clientSupportedFeatures
  /// Computed by the server; only in the Generic Attribute service.
  case databaseHash

  /// Kept by the server, up to 512 octets.
  public static func stored(_ value: [UInt8]) -> ValueDefinition { .stored(value, ValueLimits()) }
}
