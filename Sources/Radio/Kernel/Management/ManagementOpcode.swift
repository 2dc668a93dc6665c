/// A command of the kernel's Bluetooth management. The space is open.
public struct ManagementOpcode: RawRepresentable, Hashable, Sendable {
  public var rawValue: UInt16
  public init(rawValue: UInt16) { self.rawValue = rawValue }

  /// MGMT_OP_READ_COMMANDS
  public static let readCommands = Self(rawValue: 0x0002)
  /// MGMT_OP_READ_INDEX_LIST
  public static let readIndexList = Self(rawValue: 0x0003)
  /// MGMT_OP_READ_INFO
  public static let readInformation = Self(rawValue: 0x0004)
  /// MGMT_OP_SET_POWERED
  public static let setPowered = Self(rawValue: 0x0005)
  /// MGMT_OP_SET_CONNECTABLE
  public static let setConnectable = Self(rawValue: 0x0007)
  /// MGMT_OP_SET_BONDABLE
  public static let setBondable = Self(rawValue: 0x0009)
  /// MGMT_OP_SET_LE
  public static let setLE = Self(rawValue: 0x000D)
  /// MGMT_OP_LOAD_LONG_TERM_KEYS
  public static let loadLongTermKeys = Self(rawValue: 0x0013)
  /// MGMT_OP_DISCONNECT
  public static let disconnect = Self(rawValue: 0x0014)
  /// MGMT_OP_GET_CONNECTIONS
  public static let getConnections = Self(rawValue: 0x0015)
  /// MGMT_OP_PIN_CODE_NEG_REPLY
  public static let refusePIN = Self(rawValue: 0x0017)
  /// MGMT_OP_SET_IO_CAPABILITY
  public static let setCapability = Self(rawValue: 0x0018)
  /// MGMT_OP_PAIR_DEVICE
  public static let pairDevice = Self(rawValue: 0x0019)
  /// MGMT_OP_CANCEL_PAIR_DEVICE
  public static let cancelPairing = Self(rawValue: 0x001A)
  /// MGMT_OP_UNPAIR_DEVICE
  public static let unpairDevice = Self(rawValue: 0x001B)
  /// MGMT_OP_USER_CONFIRM_REPLY
  public static let confirm = Self(rawValue: 0x001C)
  /// MGMT_OP_USER_CONFIRM_NEG_REPLY
  public static let refuseConfirmation = Self(rawValue: 0x001D)
  /// MGMT_OP_USER_PASSKEY_REPLY
  public static let enterPasskey = Self(rawValue: 0x001E)
  /// MGMT_OP_USER_PASSKEY_NEG_REPLY
  public static let refusePasskey = Self(rawValue: 0x001F)
  /// MGMT_OP_START_DISCOVERY
  public static let startDiscovery = Self(rawValue: 0x0023)
  /// MGMT_OP_STOP_DISCOVERY
  public static let stopDiscovery = Self(rawValue: 0x0024)
  /// MGMT_OP_SET_SECURE_CONN
  public static let setSecureConnections = Self(rawValue: 0x002D)
  /// MGMT_OP_LOAD_IRKS
  public static let loadIdentityKeys = Self(rawValue: 0x0030)
  /// MGMT_OP_GET_CONN_INFO
  public static let getConnectionInformation = Self(rawValue: 0x0031)
  /// MGMT_OP_LOAD_CONN_PARAM
  public static let loadConnectionParameters = Self(rawValue: 0x0035)
  /// MGMT_OP_READ_UNCONF_INDEX_LIST
  public static let readUnconfiguredIndexList = Self(rawValue: 0x0036)
  /// MGMT_OP_READ_ADV_FEATURES
  public static let readAdvertisingFeatures = Self(rawValue: 0x003D)
  /// MGMT_OP_ADD_ADVERTISING
  public static let addAdvertising = Self(rawValue: 0x003E)
  /// MGMT_OP_REMOVE_ADVERTISING
  public static let removeAdvertising = Self(rawValue: 0x003F)
  /// MGMT_OP_ADD_EXT_ADV_PARAMS
  public static let addAdvertisingParameters = Self(rawValue: 0x0054)
  /// MGMT_OP_ADD_EXT_ADV_DATA
  public static let addAdvertisingData = Self(rawValue: 0x0055)
}

extension ManagementOpcode: CustomStringConvertible {
  /// What a person is told was tried, to follow "cannot".
  public var description: String {
    switch self {
    case .readCommands: "ask what the kernel can do"
    case .readIndexList, .readUnconfiguredIndexList: "list the adapters"
    case .readInformation: "read the adapter's state"
    case .setPowered: "switch the power"
    case .setConnectable: "set whether centrals may connect"
    case .setBondable: "set whether peers may bond"
    case .setLE: "switch LE"
    case .loadLongTermKeys, .loadIdentityKeys: "load keys"
    case .disconnect: "disconnect"
    case .getConnections: "list the connections"
    case .setSecureConnections: "switch LE Secure Connections on"
    case .setCapability: "set the capability of pairing"
    case .pairDevice: "pair"
    case .cancelPairing: "cancel the pairing"
    case .unpairDevice: "unpair"
    case .confirm, .refuseConfirmation, .enterPasskey, .refusePasskey, .refusePIN:
      "answer the pairing"
    case .startDiscovery: "scan"
    case .stopDiscovery: "end the scan"
    case .getConnectionInformation: "read the connection's state"
    case .loadConnectionParameters: "set connection parameters"
    case .readAdvertisingFeatures, .addAdvertising, .addAdvertisingParameters,
      .addAdvertisingData:
      "advertise"
    case .removeAdvertising: "end the advertisement"
    default:
      "carry out the command 0x"
        + hexText(UInt8(rawValue >> 8), uppercase: true)
        + hexText(UInt8(truncatingIfNeeded: rawValue), uppercase: true)
    }
  }
}
