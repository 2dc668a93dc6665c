import AttoATT

/// A row of a database: handle, type, permissions and value. Vol 3, Part
/// F, 3.2.
struct Attribute {
  let handle: AttributeHandle
  let type: BluetoothUUID
  var permissions: AttributePermissions
  /// The end of the group that this attribute starts; its own handle if it starts none.
  var groupEnd: AttributeHandle
  /// The Client Characteristic Configuration, if this is the value of a characteristic that has
  /// one.
  var configuration: AttributeHandle?
  var storage: Storage

  enum Storage {
    /// Stored here and not writable by clients: declarations and constants.
    case constant([UInt8])
    /// A characteristic declaration. The rest of its value stands in the next row, which is the value of
    /// the characteristic, so that it needs no memory of its own.
    case characteristic(CharacteristicProperties)
    /// Stored here and writable within limits.
    case stored([UInt8], ValueLimits)
    /// The application is asked each time.
    case application(ValueLimits)
    /// Stored for each client, within what the characteristic offers.
    case configuration(ClientCharacteristicConfiguration, value: AttributeHandle)
    /// Stored for each client.
    case clientSupportedFeatures
    /// Computed from the database.
    case databaseHash
  }

  /// Replaces a stored value in place. Does nothing for other kinds of values.
  mutating func overwrite(from start: Int, _ octets: RawSpan, resizing: Bool) {
    guard case .stored(var value, let limits) = storage else { return }
    // Any case without memory, so that the value has one owner and is not copied.
    storage = .databaseHash
    value.overwrite(from: start, octets, resizing: resizing)
    storage = .stored(value, limits)
  }

  var beginsService: Bool { type == .primaryService || type == .secondaryService }

  /// The value, if it is a constant that every client may read.
  @inline(__always) var constantForAll: [UInt8]? {
    guard case .requires(let requirement) = permissions.read, requirement.isNone else { return nil }
    if case .constant(let octets) = storage { return octets }
    return nil
  }

  /// The properties that a characteristic declaration has; nil if this is none.
  @inline(__always) var declaredProperties: CharacteristicProperties? {
    if case .characteristic(let properties) = storage { return properties }
    return nil
  }
}

/// The length limits of a value. Vol 3, Part F, 3.2.9.
public struct ValueLimits: Equatable, Sendable {
  /// The maximum length, 0 to 512 octets.
  public let maximumLength: Int
  /// Whether writes keep the length. A shorter write, which may be empty, then changes only the start
  /// of the value (Vol 3, Part F, 3.4.5.1). Of a value that the application holds, the server does not
  /// know the length: writes of 0 to ``maximumLength`` octets are passed on.
  public let isFixedLength: Bool

  /// The maximum length of any value.
  public static let longest = 512

  /// Creates limits. A maximum above 512 becomes 512.
  public init(maximumLength: Int = ValueLimits.longest, isFixedLength: Bool = false) {
    self.maximumLength = min(max(0, maximumLength), Self.longest)
    self.isFixedLength = isFixedLength
  }
}
