/// A command of the kernel's Bluetooth management socket.
public struct ManagementOpcode: Hashable, Sendable, CustomStringConvertible {
  /// The code of the command in frames.
  public let code: UInt16
  /// The operation, to follow "cannot".
  public let description: String

  private init(_ code: UInt16, _ description: String) {
    self.code = code
    self.description = description
  }

  package static let readCommands = Self(0x0002, "read the commands of the kernel")
  package static let readIndexList = Self(0x0003, "list the adapters")
  package static let readInformation = Self(0x0004, "read the adapter's state")
  package static let setPowered = Self(0x0005, "switch the power of the adapter")
  package static let setBondable = Self(0x0009, "set whether the adapter is bondable")
  package static let setLE = Self(0x000D, "switch LE")
  package static let loadLongTermKeys = Self(0x0013, "load keys")
  package static let disconnect = Self(0x0014, "disconnect")
  /// MGMT_OP_SET_IO_CAPABILITY
  package static let setCapability = Self(0x0018, "set the pairing capability")
  package static let pairDevice = Self(0x0019, "pair")
  package static let cancelPairing = Self(0x001A, "cancel pairing")
  package static let unpairDevice = Self(0x001B, "unpair")
  /// MGMT_OP_USER_CONFIRM_REPLY
  package static let confirm = Self(0x001C, "answer a pairing request")
  /// MGMT_OP_USER_CONFIRM_NEG_REPLY
  package static let refuseConfirmation = Self(0x001D, "answer a pairing request")
  /// MGMT_OP_USER_PASSKEY_REPLY
  package static let enterPasskey = Self(0x001E, "answer a pairing request")
  /// MGMT_OP_USER_PASSKEY_NEG_REPLY
  package static let refusePasskey = Self(0x001F, "answer a pairing request")
  package static let startDiscovery = Self(0x0023, "scan")
  package static let stopDiscovery = Self(0x0024, "stop scanning")
  package static let setSecureConnections = Self(0x002D, "switch on LE Secure Connections")
  /// MGMT_OP_LOAD_IRKS
  package static let loadIdentityKeys = Self(0x0030, "load keys")
  /// MGMT_OP_GET_CONN_INFO
  package static let getConnectionInformation = Self(0x0031, "read the connection's state")
  /// MGMT_OP_LOAD_CONN_PARAM
  package static let loadConnectionParameters = Self(0x0035, "set connection parameters")
  /// MGMT_OP_READ_UNCONF_INDEX_LIST
  package static let readUnconfiguredIndexList = Self(0x0036, "list the adapters")
  /// MGMT_OP_READ_ADV_FEATURES
  package static let readAdvertisingFeatures = Self(0x003D, "advertise")
  package static let addAdvertising = Self(0x003E, "advertise")
  package static let removeAdvertising = Self(0x003F, "stop advertising")
  /// MGMT_OP_READ_DEF_SYSTEM_CONFIG
  package static let readDefaultConfiguration = Self(0x004B, "read default parameters")
  /// MGMT_OP_SET_DEF_SYSTEM_CONFIG
  package static let setDefaultConfiguration = Self(0x004C, "set default parameters")
  /// MGMT_OP_READ_ADV_MONITOR_FEATURES
  package static let readMonitorFeatures = Self(0x0051, "scan passively")
  /// MGMT_OP_ADD_ADV_PATTERNS_MONITOR
  package static let addPatternsMonitor = Self(0x0052, "scan passively")
  /// MGMT_OP_REMOVE_ADV_MONITOR
  package static let removeMonitor = Self(0x0053, "stop scanning passively")
  /// MGMT_OP_ADD_EXT_ADV_PARAMS
  package static let addAdvertisingParameters = Self(0x0054, "advertise")
  /// MGMT_OP_ADD_EXT_ADV_DATA
  package static let addAdvertisingData = Self(0x0055, "advertise")
  /// MGMT_OP_HCI_CMD_SYNC
  package static let sendHCICommand = Self(0x005B, "send a command to the controller")
}
