/// How the kernel's Bluetooth management answers a command. The space is open.
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
  /// Why it was not done, and what helps where that is known.
  public var description: String {
    switch self {
    case .success: "done"
    case .unknownCommand: "this kernel does not know how"
    case .notConnected: "there is no connection"
    case .failed: "the controller or the peer failed"
    case .connectFailed: "the peer could not be connected to"
    case .authenticationFailed:
      "pairing failed; if one side has lost an earlier bond, forget it on both (atto unpair)"
    case .notPaired: "it is not paired"
    case .noResources: "the kernel has no room for it"
    case .timeout: "the peer did not answer in time"
    case .alreadyConnected: "it is connected already"
    case .busy: "the adapter is busy, perhaps for another program"
    case .rejected: "the adapter's state does not allow it; is it powered, and LE on?"
    case .notSupported: "the adapter cannot"
    case .invalidParameters: "the kernel takes these values for invalid"
    case .disconnected: "the peer has disconnected"
    case .notPowered: "the adapter is powered off (try: atto adapters --power on)"
    case .cancelled: "it was cancelled"
    case .invalidIndex: "there is no such adapter; see: atto adapters"
    case .blocked: "the radio is blocked (try: rfkill unblock bluetooth)"
    case .alreadyPaired:
      "it is paired already; if the peer has forgotten that, forget it here too (atto unpair)"
    case .permissionDenied:
      "permission is missing: CAP_NET_ADMIN; run as root, or give it to the program once with "
        + "sudo setcap cap_net_admin+ep PROGRAM"
    default: "status 0x" + hexText(rawValue, uppercase: true)
    }
  }
}
