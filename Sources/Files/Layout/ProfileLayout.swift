import ATT

/// A profile with a handle for everything: what a server's database is built from, in one
/// pass over `attributes`.
///
/// The automatic services are left as ranges, because their values (Service Changed, the
/// hash) are the server's own; the room for them is kept free.
public struct ProfileLayout: Sendable, Equatable {
  /// Where the server puts its own services.
  public var automaticServices: AutomaticServices
  /// The profile's services in the order of their handles.
  public var services: [Service]
  /// The profile's attributes in the order of their handles, which only grow.
  public var attributes: [Attribute]

  /// The services that a server adds by itself, as far as the profile wants them and has none
  /// of the same UUID. Vol 3, Part C, 12 and Part G, 7.
  public struct AutomaticServices: Sendable, Equatable {
    /// GAP: declaration, then Device Name and Appearance, each declared. 5 attributes.
    public var genericAccess: HandleRange?
    /// GATT: declaration, Service Changed with its CCCD, Client Supported Features, Database
    /// Hash, Server Supported Features. 10 attributes.
    public var genericAttribute: HandleRange?

    /// Attributes of the GAP service.
    public static let genericAccessCount = 5
    /// Attributes of the GATT service.
    public static let genericAttributeCount = 10
  }

  /// A service's place.
  public struct Service: Sendable, Equatable {
    /// What it is.
    public var uuid: BluetoothUUID
    /// Whether it is discovered by itself.
    public var isPrimary: Bool
    /// From the declaration to the end of the group.
    public var range: HandleRange
  }

  /// One attribute at its place.
  public struct Attribute: Sendable, Equatable {
    /// Where it is.
    public var handle: AttributeHandle
    /// The attribute's type.
    public var type: BluetoothUUID
    /// What it holds.
    public var content: Content
  }

  /// What an attribute holds, by what it is.
  public enum Content: Sendable, Equatable {
    /// 2800 or 2801.
    case service(Service)
    /// 2802. The UUID of the included service travels only if it has 16 bits.
    case include(Service)
    /// 2803.
    case characteristic(
      properties: Profile.Properties, valueHandle: AttributeHandle, uuid: BluetoothUUID)
    /// A characteristic's value. `echo` is the value handle that `behaviour.echo` names.
    case value(Storage, Profile.Behaviour?, echo: AttributeHandle?)
    /// Any descriptor but a CCCD.
    case descriptor(Storage)
    /// 2902, of which the server keeps one for each client; its bytes here are empty.
    case clientConfiguration(Storage)
  }

  /// What an attribute holds and who may touch it: a `Profile.Value` with nothing left open.
  public struct Storage: Sendable, Equatable {
    /// The value at the beginning.
    public var bytes: [UInt8]
    /// The longest value that a write may leave: `bytes.count` to 512.
    public var maxLength: Int
    /// Whether a write must have this length.
    public var isFixedLength: Bool
    /// Who may read and write it.
    public var permissions: Profile.Permissions
    /// The smallest encryption key, 7 to 16 octets, or nil.
    public var keySize: UInt8?
  }
}

extension Profile {
  /// Assigns a handle to everything as a server does: what the profile states is honoured,
  /// everything else gets the next free handle, in the order of the profile.
  ///
  /// Throws at the first thing that cannot be: handles that are taken, out of order or outside
  /// of their service; includes and echoes that name nothing or two things; values that
  /// contradict their limits; behaviours that contradict the properties.
  public func layout() throws(ProfileError) -> ProfileLayout {
    var placement = Placement(self)
    try placement.placeServices()
    try placement.placeAutomaticServices()
    try placement.resolve()
    return ProfileLayout(
      automaticServices: placement.automatic, services: placement.services,
      attributes: placement.attributes)
  }
}
