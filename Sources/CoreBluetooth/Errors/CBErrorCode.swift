extension CBError {
  /// The codes, as Apple numbers them.
  public enum Code: Int, Sendable {
    case unknown = 0
    case invalidParameters = 1
    case invalidHandle = 2
    case notConnected = 3
    case outOfSpace = 4
    case operationCancelled = 5
    case connectionTimeout = 6
    case peripheralDisconnected = 7
    case uuidNotAllowed = 8
    case alreadyAdvertising = 9
    case connectionFailed = 10
    case connectionLimitReached = 11
    /// Misspelled in Apple's SDK, and so here.
    case unkownDevice = 12
    case operationNotSupported = 13
    case peerRemovedPairingInformation = 14
    case encryptionTimedOut = 15
    case tooManyLEPairedDevices = 16
    case leGattExceededBackgroundNotificationLimit = 17
    case leGattNearBackgroundNotificationLimit = 18
    public static var unknownDevice: CBError.Code { .unkownDevice }

    /// What people are told.
    var text: String {
      switch self {
      case .unknown: "Unknown error."
      case .invalidParameters: "One or more parameters were invalid."
      case .invalidHandle: "The specified attribute handle is invalid."
      case .notConnected: "The specified device is not connected."
      case .outOfSpace: "The device has run out of space."
      case .operationCancelled: "The operation was cancelled."
      case .connectionTimeout: "The connection has timed out unexpectedly."
      case .peripheralDisconnected: "The specified device has disconnected from us."
      case .uuidNotAllowed: "The specified UUID is not allowed for this operation."
      case .alreadyAdvertising: "Advertising has already started."
      case .connectionFailed: "The connection has failed unexpectedly."
      case .connectionLimitReached: "The system has reached the maximum number of connections."
      case .unkownDevice: "The specified device is unknown."
      case .operationNotSupported: "The operation is not supported."
      case .peerRemovedPairingInformation: "Peer removed pairing information."
      case .encryptionTimedOut:
        "Failed to encrypt the connection, the connection has timed out unexpectedly."
      case .tooManyLEPairedDevices: "The device has too many pairings."
      case .leGattExceededBackgroundNotificationLimit:
        "Too many notifications came in the background."
      case .leGattNearBackgroundNotificationLimit:
        "Notifications in the background are near their limit."
      }
    }
  }
}
