/// The state of the radio.
public enum CBManagerState: Int, Sendable {
  /// The state is not known yet.
  case unknown = 0
  /// The connection to the radio is lost for the moment: its adapter is being unplugged or
  /// restarted.
  case resetting = 1
  /// The radio does not exist, or it has no Bluetooth LE.
  case unsupported = 2
  /// The process may not use the radio: it lacks CAP_NET_ADMIN.
  case unauthorized = 3
  /// The radio is switched off.
  case poweredOff = 4
  /// The radio is ready.
  case poweredOn = 5
}

/// Whether this process may use Bluetooth.
public enum CBManagerAuthorization: Int, Sendable {
  case notDetermined = 0
  case restricted = 1
  /// The process lacks CAP_NET_ADMIN, which the kernel's radio requires.
  case denied = 2
  case allowedAlways = 3
}

/// The name of ``CBManagerState`` before iOS 10, for centrals.
public enum CBCentralManagerState: Int, Sendable {
  case unknown = 0
  case resetting = 1
  case unsupported = 2
  case unauthorized = 3
  case poweredOff = 4
  case poweredOn = 5
}

/// The name of ``CBManagerState`` before iOS 10, for peripherals.
public enum CBPeripheralManagerState: Int, Sendable {
  case unknown = 0
  case resetting = 1
  case unsupported = 2
  case unauthorized = 3
  case poweredOff = 4
  case poweredOn = 5
}

/// The name of ``CBManagerAuthorization`` before iOS 13.
public enum CBPeripheralManagerAuthorizationStatus: Int, Sendable {
  case notDetermined = 0
  case restricted = 1
  case denied = 2
  case authorized = 3
}
