import ATT

/// What a server serves, as a profile file states it; the catalog's page lists every key.
///
/// Handles that the file leaves open are nil here; `layout()` assigns them.
public struct Profile: Sendable, Equatable {
  /// The device's name: the value of Device Name in the automatic GAP service.
  public var name: String?
  /// The largest ATT_MTU that the server offers, from 23; nil leaves it to the server.
  public var mtu: UInt16?
  /// Whether the server adds the GAP and GATT services that the file does not list itself.
  public var addsAutomaticServices = true
  /// What is broadcast; nil leaves it to the server.
  public var advertising: Advertising?
  /// In the order of their handles.
  public var services: [Service] = []

  /// One with these values; its properties say what each means.
  public init(
    name: String? = nil, mtu: UInt16? = nil, addsAutomaticServices: Bool = true,
    advertising: Advertising? = nil, services: [Service] = []
  ) {
    self.name = name
    self.mtu = mtu
    self.addsAutomaticServices = addsAutomaticServices
    self.advertising = advertising
    self.services = services
  }
}

extension Profile {
  /// A service with what belongs to it. Vol 3, Part G, 3.1.
  public struct Service: Sendable, Equatable {
    /// What it is.
    public var uuid: BluetoothUUID
    /// Whether it is discovered by itself, and not only where another includes it.
    public var isPrimary = true
    /// The declaration's handle.
    public var handle: AttributeHandle?
    /// The last handle of the service's range; nil ends it with the last attribute.
    public var endHandle: AttributeHandle?
    /// The services that it refers to.
    public var includes: [Include] = []
    /// What it consists of.
    public var characteristics: [Characteristic] = []

    /// A primary service without characteristics.
    public init(uuid: BluetoothUUID) { self.uuid = uuid }
  }

  /// An include declaration. Vol 3, Part G, 3.2.
  public struct Include: Sendable, Equatable {
    /// The declaration's handle.
    public var handle: AttributeHandle?
    /// The service that is included, anywhere in the profile.
    public var service: Target

    /// Refers to this service, from the next free handle.
    public init(_ service: Target) { self.service = service }
  }

  /// Names a service or a characteristic elsewhere in the profile.
  public enum Target: Sendable, Equatable {
    /// By the handle of its declaration; a characteristic also by that of its value.
    case handle(AttributeHandle)
    /// By its UUID, which only one of the profile may have.
    case uuid(BluetoothUUID)
  }

  /// A characteristic: declaration, value, descriptors. Vol 3, Part G, 3.3.
  public struct Characteristic: Sendable, Equatable {
    /// What it is.
    public var uuid: BluetoothUUID
    /// What its declaration says may be done with its value.
    public var properties: Properties = []
    /// The bits of an automatic Characteristic Extended Properties descriptor.
    public var extendedProperties: ExtendedProperties = []
    /// The declaration's handle.
    public var handle: AttributeHandle?
    /// The value's handle; nil is the one after the declaration's.
    public var valueHandle: AttributeHandle?
    /// Its value, and who may touch it.
    public var value = Value()
    /// Whether a CCCD is added to a characteristic that notifies or indicates and lists none.
    public var addsConfiguration = true
    /// What describes it, but for a CCCD that comes by itself.
    public var descriptors: [Descriptor] = []
    /// How the server misbehaves on purpose; nil is a plain value.
    public var behaviour: Behaviour?

    /// One without properties, and with an empty value.
    public init(uuid: BluetoothUUID) { self.uuid = uuid }
  }

  /// A descriptor. Vol 3, Part G, 3.3.3.
  public struct Descriptor: Sendable, Equatable {
    /// What it is.
    public var uuid: BluetoothUUID
    /// Where it shall be; nil: at the next free handle.
    public var handle: AttributeHandle?
    /// Its value, and who may touch it.
    public var value = Value()

    /// One with an empty value.
    public init(uuid: BluetoothUUID) { self.uuid = uuid }
  }

  /// What an attribute holds at the start, how long it may become and who may touch it.
  public struct Value: Sendable, Equatable {
    /// The longest value of an attribute: 512 octets. Vol 3, Part F, 3.2.9.
    public static let lengthLimit = 512

    /// The value at the start; at most `lengthLimit` octets.
    public var bytes: [UInt8] = []
    /// The longest value that a write may leave; nil is `lengthLimit`, or the length of
    /// `bytes` where that is fixed.
    public var maxLength: Int?
    /// Whether the length stays as it is.
    public var isFixedLength = false
    /// nil follows from the properties of the characteristic.
    public var permissions: Permissions?
    /// The smallest encryption key, 7 to 16 octets; nil asks for none.
    public var keySize: UInt8?

    /// A value of these octets, at first.
    public init(_ bytes: [UInt8] = []) { self.bytes = bytes }
  }
}
