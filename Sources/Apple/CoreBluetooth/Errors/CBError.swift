import Foundation

/// The domain of ``CBError`` as an NSError.
public let CBErrorDomain: String = "CBErrorDomain"

/// The failure of a connection, an advertisement or a request.
public struct CBError: Error, CustomNSError, LocalizedError, Hashable {
  /// The code of the error.
  public private(set) var code: CBError.Code
  private let information: UncheckedBox<[String: Any]>

  /// - Parameter userInfo: as in `NSError`.
  public init(_ code: CBError.Code, userInfo: [String: Any] = [:]) {
    self.code = code
    information = UncheckedBox(userInfo)
  }

  /// The domain of errors of this type.
  public static var errorDomain: String { CBErrorDomain }
  /// The code as a number.
  public var errorCode: Int { code.rawValue }
  /// The information given with the code, and the localized description.
  public var userInfo: [String: Any] {
    information.content.merging([NSLocalizedDescriptionKey: code.text]) { given, _ in given }
  }
  public var errorUserInfo: [String: Any] { userInfo }
  public var errorDescription: String? { localizedDescription }
  /// The text for people.
  public var localizedDescription: String {
    information.content[NSLocalizedDescriptionKey] as? String ?? code.text
  }

  public static func == (a: CBError, b: CBError) -> Bool { a.code == b.code }
  public func hash(into hasher: inout Hasher) { hasher.combine(code) }
}

extension CBError {
  /// The codes, with Apple's numbers.
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
    /// The name is misspelled in Apple's SDK.
    case unkownDevice = 12
    case operationNotSupported = 13
    case peerRemovedPairingInformation = 14
    case encryptionTimedOut = 15
    case tooManyLEPairedDevices = 16
    case leGattExceededBackgroundNotificationLimit = 17
    case leGattNearBackgroundNotificationLimit = 18
    public static var unknownDevice: CBError.Code { .unkownDevice }

    /// Lets a code be a pattern for any error.
    public static func ~= (code: CBError.Code, error: any Error) -> Bool {
      (error as? CBError)?.code == code
    }

    /// The text for people.
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
        "Too many notifications arrived in the background."
      case .leGattNearBackgroundNotificationLimit:
        "Notifications in the background are near their limit."
      }
    }
  }

  public static var unknown: CBError.Code { .unknown }
  public static var invalidParameters: CBError.Code { .invalidParameters }
  public static var invalidHandle: CBError.Code { .invalidHandle }
  public static var notConnected: CBError.Code { .notConnected }
  public static var outOfSpace: CBError.Code { .outOfSpace }
  public static var operationCancelled: CBError.Code { .operationCancelled }
  public static var connectionTimeout: CBError.Code { .connectionTimeout }
  public static var peripheralDisconnected: CBError.Code { .peripheralDisconnected }
  public static var uuidNotAllowed: CBError.Code { .uuidNotAllowed }
  public static var alreadyAdvertising: CBError.Code { .alreadyAdvertising }
  public static var connectionFailed: CBError.Code { .connectionFailed }
  public static var connectionLimitReached: CBError.Code { .connectionLimitReached }
  public static var unkownDevice: CBError.Code { .unkownDevice }
  public static var operationNotSupported: CBError.Code { .operationNotSupported }
  public static var peerRemovedPairingInformation: CBError.Code { .peerRemovedPairingInformation }
  public static var encryptionTimedOut: CBError.Code { .encryptionTimedOut }
  public static var tooManyLEPairedDevices: CBError.Code { .tooManyLEPairedDevices }
  public static var leGattExceededBackgroundNotificationLimit: CBError.Code {
    .leGattExceededBackgroundNotificationLimit
  }
  public static var leGattNearBackgroundNotificationLimit: CBError.Code {
    .leGattNearBackgroundNotificationLimit
  }
  public static var unknownDevice: CBError.Code { .unkownDevice }
}
