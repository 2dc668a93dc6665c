import AttoATT

/// The status of an answer of the kernel's Bluetooth management socket. Unknown codes are kept.
public struct ManagementStatus: RawRepresentable, Hashable, Sendable {
  public var rawValue: UInt8
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// MGMT_STATUS_SUCCESS
  public static let success = Self(rawValue: 0x00)
  /// MGMT_STATUS_UNKNOWN_COMMAND
  public static let unknownCommand = Self(rawValue: 0x01)
  /// MGMT_STATUS_NOT_CONNECTED
  public static let notConnected = Self(rawValue: 0x02)
  /// MGMT_STATUS_FAILED
  public static let failed = Self(rawValue: 0x03)
  /// MGMT_STATUS_CONNECT_FAILED
  public static let connectFailed = Self(rawValue: 0x04)
  /// MGMT_STATUS_AUTH_FAILED
  public static let authenticationFailed = Self(rawValue: 0x05)
  /// MGMT_STATUS_NOT_PAIRED
  public static let notPaired = Self(rawValue: 0x06)
  /// MGMT_STATUS_NO_RESOURCES
  public static let noResources = Self(rawValue: 0x07)
  /// MGMT_STATUS_TIMEOUT
  public static let timeout = Self(rawValue: 0x08)
  /// MGMT_STATUS_ALREADY_CONNECTED
  public static let alreadyConnected = Self(rawValue: 0x09)
  /// MGMT_STATUS_BUSY
  public static let busy = Self(rawValue: 0x0A)
  /// MGMT_STATUS_REJECTED
  public static let rejected = Self(rawValue: 0x0B)
  /// MGMT_STATUS_NOT_SUPPORTED
  public static let notSupported = Self(rawValue: 0x0C)
  /// MGMT_STATUS_INVALID_PARAMS
  public static let invalidParameters = Self(rawValue: 0x0D)
  /// MGMT_STATUS_DISCONNECTED
  public static let disconnected = Self(rawValue: 0x0E)
  /// MGMT_STATUS_NOT_POWERED
  public static let notPowered = Self(rawValue: 0x0F)
  /// MGMT_STATUS_CANCELLED
  public static let cancelled = Self(rawValue: 0x10)
  /// MGMT_STATUS_INVALID_INDEX
  public static let invalidIndex = Self(rawValue: 0x11)
  /// MGMT_STATUS_RFKILLED
  public static let blocked = Self(rawValue: 0x12)
  /// MGMT_STATUS_ALREADY_PAIRED
  public static let alreadyPaired = Self(rawValue: 0x13)
  /// MGMT_STATUS_PERMISSION_DENIED
  public static let permissionDenied = Self(rawValue: 0x14)
}

extension ManagementStatus: CustomStringConvertible {
  /// The reason why a command failed.
  public var description: String {
    switch self {
    case .success: "success"
    case .unknownCommand: "the kernel does not support it"
    case .notConnected: "not connected"
    case .failed: "the controller or the peer failed"
    case .connectFailed: "cannot connect to the peer"
    case .authenticationFailed: "pairing failed"
    case .notPaired: "not paired"
    case .noResources: "the kernel has no resources for it"
    case .timeout: "the peer did not answer in time"
    case .alreadyConnected: "already connected"
    case .busy: "the adapter is busy, possibly with another program"
    case .rejected: "the state of the adapter does not permit it"
    case .notSupported: "the adapter does not support it"
    case .invalidParameters: "invalid parameters"
    case .disconnected: "the peer has disconnected"
    case .notPowered: "the adapter is powered off"
    case .cancelled: "cancelled"
    case .invalidIndex: "there is no such adapter"
    case .blocked: "the radio is blocked (rfkill)"
    case .alreadyPaired: "already paired"
    case .permissionDenied: "permission denied: CAP_NET_ADMIN is required"
    default: "status 0x" + Hex.digits(rawValue)
    }
  }
}
