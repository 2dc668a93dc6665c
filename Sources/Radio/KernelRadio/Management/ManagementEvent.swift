import AttoLinks
import AttoRadio

/// An event of the kernel's Bluetooth management socket.
///
/// An event that is too short is `malformed`. Further octets are ignored, since newer kernels may add
/// some. Events about BR/EDR peers are `other`.
enum ManagementEvent: Hashable, Sendable {
  /// MGMT_EV_CMD_COMPLETE and MGMT_EV_CMD_STATUS, which has no parameters.
  case answered(UInt16, ManagementStatus, [UInt8])
  /// MGMT_EV_INDEX_ADDED
  case indexAdded
  /// MGMT_EV_INDEX_REMOVED
  case indexRemoved
  /// MGMT_EV_NEW_SETTINGS
  case newSettings(AdapterSettings)
  /// MGMT_EV_LOCAL_NAME_CHANGED
  case nameChanged(String)
  /// MGMT_EV_NEW_LONG_TERM_KEY, MGMT_EV_NEW_IRK, MGMT_EV_NEW_CSRK. `isToStore`: whether the
  /// kernel asks to store it.
  case newKey(BondKey, isToStore: Bool)
  /// MGMT_EV_DEVICE_CONNECTED
  case deviceConnected(BluetoothAddress)
  /// MGMT_EV_DEVICE_DISCONNECTED
  case deviceDisconnected(BluetoothAddress, reason: UInt8)
  /// MGMT_EV_USER_CONFIRM_REQUEST. Just Works: there is nothing to compare.
  case confirmationRequest(BluetoothAddress, isJustWorks: Bool, value: UInt32)
  /// MGMT_EV_USER_PASSKEY_REQUEST
  case passkeyRequest(BluetoothAddress)
  /// MGMT_EV_PASSKEY_NOTIFY. `entered`: digits that were entered at the peer so far.
  case passkeyNotification(BluetoothAddress, passkey: UInt32, entered: UInt8)
  /// MGMT_EV_AUTH_FAILED
  case authenticationFailed(BluetoothAddress, ManagementStatus)
  /// MGMT_EV_DEVICE_FOUND, MGMT_EV_ADV_MONITOR_DEVICE_FOUND
  case deviceFound(DeviceFound)
  /// MGMT_EV_DISCOVERING
  case discovering(Bool)
  /// MGMT_EV_ADVERTISING_REMOVED
  case advertisingRemoved(UInt8)
  /// MGMT_EV_ADV_MONITOR_REMOVED
  case monitorRemoved(UInt16)
  case other(code: UInt16)
  case malformed(code: UInt16, length: Int)

  struct DeviceFound: Hashable, Sendable {
    var address: BluetoothAddress
    /// dBm; 127 if it is not known.
    var rssi: Int8
    var flags: UInt32
    var data: [UInt8]

    /// MGMT_DEV_FOUND_NOT_CONNECTABLE
    var isConnectable: Bool { flags & 0x04 == 0 }
    /// MGMT_DEV_FOUND_SCAN_RSP: the data is a scan response. Otherwise it is an advertisement,
    /// followed by the scan response if there was one.
    var isScanResponse: Bool { flags & 0x20 != 0 }
  }

  init(_ frame: ManagementFrame) {
    var reader = ManagementReader(frame.parameters)
    let event = Self.read(frame.code, &reader)
    if reader.isShort {
      self = .malformed(code: frame.code, length: frame.parameters.count)
    } else if let event, !reader.isBREDR {
      self = event
    } else {
      self = .other(code: frame.code)
    }
  }

  /// nil for an unknown event.
  private static func read(_ code: UInt16, _ reader: inout ManagementReader) -> ManagementEvent? {
    switch code {
    case 0x0001, 0x0002:
      let opcode: UInt16 = reader.integer()
      let status = ManagementStatus(rawValue: reader.integer())
      return .answered(opcode, status, code == 0x0001 ? Array(reader.rest) : [])
    case 0x0004: return .indexAdded
    case 0x0005: return .indexRemoved
    case 0x0006: return .newSettings(AdapterSettings(rawValue: reader.integer()))
    case 0x0008: return .nameChanged(reader.name(249))
    case 0x000A:
      let isToStore = reader.flag()
      return .newKey(.longTerm(LongTermKey(&reader)), isToStore: isToStore)
    case 0x000B:
      let peer = reader.address()
      _ = reader.octets(4)
      _ = reader.countedOctets()
      return .deviceConnected(peer)
    case 0x000C: return .deviceDisconnected(reader.address(), reason: reader.integer())
    case 0x000F:
      return .confirmationRequest(
        reader.address(), isJustWorks: reader.flag(), value: reader.integer())
    case 0x0010: return .passkeyRequest(reader.address())
    case 0x0011:
      let peer = reader.address()
      return .authenticationFailed(peer, ManagementStatus(rawValue: reader.integer()))
    case 0x0012, 0x002F:
      // The monitor that has matched; 0: another time.
      if code == 0x002F { _ = reader.octets(2) }
      return .deviceFound(
        DeviceFound(
          address: reader.address(), rssi: reader.integer(), flags: reader.integer(),
          data: reader.countedOctets()))
    case 0x0013:
      _ = reader.octets(1)
      return .discovering(reader.flag())
    case 0x0017:
      return .passkeyNotification(
        reader.address(), passkey: reader.integer(), entered: reader.integer())
    case 0x0018:
      let isToStore = reader.flag()
      _ = reader.octets(6)  // the address that it has resolved
      return .newKey(.identity(IdentityResolvingKey(&reader)), isToStore: isToStore)
    case 0x0019:
      let isToStore = reader.flag()
      return .newKey(.signature(SignatureKey(&reader)), isToStore: isToStore)
    case 0x0024: return .advertisingRemoved(reader.integer())
    case 0x002C: return .monitorRemoved(reader.integer())
    default: return nil
    }
  }
}
