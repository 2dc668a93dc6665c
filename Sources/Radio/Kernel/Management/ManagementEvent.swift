import Links

/// What the kernel's Bluetooth management tells, decoded.
///
/// An event that is shorter than its kind must be is `malformed`; octets behind those that are
/// known are passed over, since kernels may add some. Events about BR/EDR peers are `other`.
enum ManagementEvent: Hashable, Sendable {
  /// MGMT_EV_CMD_COMPLETE and MGMT_EV_CMD_STATUS, which has no parameters.
  case answered(ManagementOpcode, ManagementStatus, [UInt8])
  /// MGMT_EV_INDEX_ADDED
  case indexAdded
  /// MGMT_EV_INDEX_REMOVED
  case indexRemoved
  /// MGMT_EV_NEW_SETTINGS
  case newSettings(AdapterSettings)
  /// MGMT_EV_LOCAL_NAME_CHANGED
  case nameChanged(String)
  /// MGMT_EV_NEW_LONG_TERM_KEY, MGMT_EV_NEW_IRK, MGMT_EV_NEW_CSRK. `isToStore`: whether the
  /// kernel advises to keep it.
  case newKey(BondKey, isToStore: Bool)
  /// MGMT_EV_DEVICE_CONNECTED
  case deviceConnected(BluetoothAddress, data: [UInt8])
  /// MGMT_EV_DEVICE_DISCONNECTED
  case deviceDisconnected(BluetoothAddress, reason: UInt8)
  /// MGMT_EV_CONNECT_FAILED
  case connectFailed(BluetoothAddress, ManagementStatus)
  /// MGMT_EV_USER_CONFIRM_REQUEST. Just Works: there is nothing to compare.
  case confirmationRequest(BluetoothAddress, isJustWorks: Bool, value: UInt32)
  /// MGMT_EV_USER_PASSKEY_REQUEST
  case passkeyRequest(BluetoothAddress)
  /// MGMT_EV_PASSKEY_NOTIFY. `entered`: digits that the peer's user has typed so far.
  case passkeyNotification(BluetoothAddress, passkey: UInt32, entered: UInt8)
  /// MGMT_EV_AUTH_FAILED
  case authenticationFailed(BluetoothAddress, ManagementStatus)
  /// MGMT_EV_DEVICE_FOUND
  case deviceFound(DeviceFound)
  /// MGMT_EV_DISCOVERING
  case discovering(Bool)
  /// MGMT_EV_DEVICE_UNPAIRED
  case deviceUnpaired(BluetoothAddress)
  /// MGMT_EV_ADVERTISING_ADDED
  case advertisingAdded(UInt8)
  /// MGMT_EV_ADVERTISING_REMOVED
  case advertisingRemoved(UInt8)
  case other(code: UInt16)
  case malformed(code: UInt16, length: Int)

  /// What a scan reports of a device.
  struct DeviceFound: Hashable, Sendable {
    var address: BluetoothAddress
    /// dBm; 127 if it is not known.
    var rssi: Int8
    var flags: UInt32
    var data: [UInt8]

    /// MGMT_DEV_FOUND_NOT_CONNECTABLE
    var isConnectable: Bool { flags & 0x04 == 0 }
    /// MGMT_DEV_FOUND_SCAN_RSP: the data is a scan response alone. Without it, it is an
    /// advertisement, and behind it the scan response if there was one.
    var isScanResponse: Bool { flags & 0x20 != 0 }
  }

  init(_ frame: ManagementFrame) {
    var reader = ManagementReader(frame.parameters)
    let event = Self.read(frame.code, &reader)
    self =
      reader.isShort
      ? .malformed(code: frame.code, length: frame.parameters.count)
      : event ?? .other(code: frame.code)
  }

  /// nil for an event that is not known, or not about LE.
  private static func read(_ code: UInt16, _ reader: inout ManagementReader) -> ManagementEvent? {
    switch code {
    case 0x0001, 0x0002:
      let opcode = ManagementOpcode(rawValue: reader.integer())
      let status = ManagementStatus(rawValue: reader.integer())
      return .answered(opcode, status, code == 0x0001 ? Array(reader.rest) : [])
    case 0x0004: return .indexAdded
    case 0x0005: return .indexRemoved
    case 0x0006: return .newSettings(AdapterSettings(rawValue: reader.integer()))
    case 0x0008: return .nameChanged(reader.name(249))
    case 0x000A, 0x0018, 0x0019: return key(code, &reader)
    case 0x0012:
      let address = reader.address()
      let rssi: Int8 = reader.integer()
      let flags: UInt32 = reader.integer()
      let data = counted(&reader)
      return address.map {
        .deviceFound(DeviceFound(address: $0, rssi: rssi, flags: flags, data: data))
      }
    case 0x0013:
      _ = reader.octets(1)
      return .discovering(reader.flag())
    case 0x0023: return .advertisingAdded(reader.integer())
    case 0x0024: return .advertisingRemoved(reader.integer())
    default: return peerEvent(code, &reader)
    }
  }

  /// Events that begin with a peer's address.
  private static func peerEvent(
    _ code: UInt16, _ reader: inout ManagementReader
  ) -> ManagementEvent? {
    guard [0x0B, 0x0C, 0x0D, 0x0F, 0x10, 0x11, 0x16, 0x17].contains(code) else { return nil }
    let known = reader.address()
    // Read to the end even so: whether a frame is short does not depend on the kind of address.
    let peer = known ?? BluetoothAddress(0)
    let event: ManagementEvent
    switch code {
    case 0x000B:
      _ = reader.octets(4)
      event = .deviceConnected(peer, data: counted(&reader))
    case 0x000C: event = .deviceDisconnected(peer, reason: reader.integer())
    case 0x000D: event = .connectFailed(peer, ManagementStatus(rawValue: reader.integer()))
    case 0x000F:
      let isJustWorks = reader.flag()
      event = .confirmationRequest(peer, isJustWorks: isJustWorks, value: reader.integer())
    case 0x0010: event = .passkeyRequest(peer)
    case 0x0011: event = .authenticationFailed(peer, ManagementStatus(rawValue: reader.integer()))
    case 0x0016: event = .deviceUnpaired(peer)
    default:
      let passkey: UInt32 = reader.integer()
      event = .passkeyNotification(peer, passkey: passkey, entered: reader.integer())
    }
    return known == nil ? nil : event
  }

  private static func key(
    _ code: UInt16, _ reader: inout ManagementReader
  ) -> ManagementEvent? {
    let isToStore = reader.flag()
    let key: BondKey?
    switch code {
    case 0x000A: key = LongTermKey(&reader).map(BondKey.longTerm)
    case 0x0018:
      _ = reader.octets(6)  // the address that it has resolved
      key = IdentityResolvingKey(&reader).map(BondKey.identity)
    default: key = SignatureKey(&reader).map(BondKey.signature)
    }
    return key.map { .newKey($0, isToStore: isToStore) }
  }

  private static func counted(_ reader: inout ManagementReader) -> [UInt8] {
    let count: UInt16 = reader.integer()
    return reader.octets(Int(count))
  }
}

extension ManagementReader {
  fileprivate mutating func flag() -> Bool {
    let octet: UInt8 = integer()
    return octet != 0
  }
}
