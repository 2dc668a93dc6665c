import ATT

/// One row of a database: handle, type, permissions and where its value is kept. Vol 3, Part
/// F, 3.2.
struct Attribute {
  let handle: AttributeHandle
  let type: BluetoothUUID
  var permissions: AttributePermissions
  /// The end of the group that this attribute begins; its own handle if it begins none.
  var groupEnd: AttributeHandle
  /// For a characteristic's value: its Client Characteristic Configuration, if it has one.
  var configuration: AttributeHandle?
  var storage: Storage

  enum Storage {
    /// Kept here and never written by a client: declarations and constants.
    case constant([UInt8])
    /// Kept here, written within limits.
    case stored([UInt8], ValueLimits)
    /// The application is asked each time.
    case application(ValueLimits)
    /// Kept per client: what it configured, within what the characteristic offers.
    case configuration(ClientCharacteristicConfiguration, value: AttributeHandle)
    /// Kept per client.
    case clientSupportedFeatures
    /// Computed from the database.
    case databaseHash
  }

  var beginsService: Bool { type == .primaryService || type == .secondaryService }

  /// The value, if it is a constant that every client may read: nobody has to be asked then.
  @inline(__always) var constantForAll: [UInt8]? {
    guard case .requires(let requirement) = permissions.read, requirement.isNone else { return nil }
    if case .constant(let octets) = storage { return octets }
    return nil
  }
}

/// How long a value may be. Vol 3, Part F, 3.2.9.
public struct ValueLimits: Equatable, Sendable {
  /// Octets, 0 to 512.
  public let maximumLength: Int
  /// A write never changes the length: a shorter one updates a prefix.
  public let isFixedLength: Bool

  /// No attribute is longer than this.
  public static let longest = 512

  /// A limit beyond 512 is taken as 512.
  public init(maximumLength: Int = ValueLimits.longest, isFixedLength: Bool = false) {
    self.maximumLength = min(max(0, maximumLength), Self.longest)
    self.isFixedLength = isFixedLength
  }
}
