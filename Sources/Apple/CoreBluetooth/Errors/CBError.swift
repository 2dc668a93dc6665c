import Foundation

/// The domain of ``CBError`` as an NSError.
public let CBErrorDomain: String = "CBErrorDomain"

/// The failure of a connection, an advertisement or a request.
public struct CBError: Error, CustomNSError, LocalizedError, Hashable, _BridgedError {
  /// The code of the error.
  public private(set) var code: CBError.Code
  private let information: UncheckedBox<[String: Any]>

  /// - Parameter userInfo: as in `NSError`.
  public init(_ code: CBError.Code, userInfo: [String: Any] = [:]) {
    self.code = code
    information = UncheckedBox(userInfo)
  }

  public init(_nsError error: NSError) {
    code = CBError.Code(number: error.code)
    information = UncheckedBox(error.userInfo)
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
  public enum Code: RawRepresentable, Hashable, Sendable {
    case unknown
    case invalidParameters
    case invalidHandle
    case notConnected
    case outOfSpace
    case operationCancelled
    case connectionTimeout
    case peripheralDisconnected
    case uuidNotAllowed
    case alreadyAdvertising
    case connectionFailed
    case connectionLimitReached
    /// The name is misspelled in Apple's SDK.
    case unkownDevice
    case operationNotSupported
    case peerRemovedPairingInformation
    case encryptionTimedOut
    case tooManyLEPairedDevices
    case leGattExceededBackgroundNotificationLimit
    case leGattNearBackgroundNotificationLimit
    /// A code without a name; `init(rawValue:)` creates it.
    case other(Int)

    public static var unknownDevice: CBError.Code { .unkownDevice }

    /// The text of each named code, at the index that is its number.
    private static let named: [(code: Code, text: String)] = [
      (.unknown, "Unknown error."),
      (.invalidParameters, "One or more parameters were invalid."),
      (.invalidHandle, "The specified attribute handle is invalid."),
      (.notConnected, "The specified device is not connected."),
      (.outOfSpace, "The device has run out of space."),
      (.operationCancelled, "The operation was cancelled."),
      (.connectionTimeout, "The connection has timed out unexpectedly."),
      (.peripheralDisconnected, "The specified device has disconnected from us."),
      (.uuidNotAllowed, "The specified UUID is not allowed for this operation."),
      (.alreadyAdvertising, "Advertising has already started."),
      (.connectionFailed, "The connection has failed unexpectedly."),
      (.connectionLimitReached, "The system has reached the maximum number of connections."),
      (.unkownDevice, "The specified device is unknown."),
      (.operationNotSupported, "The operation is not supported."),
      (.peerRemovedPairingInformation, "Peer removed pairing information"),
      (
        .encryptionTimedOut,
        "Failed to encrypt the connection, the connection has timed out unexpectedly."
      ),
      (.tooManyLEPairedDevices, "The device has too many pairings."),
      (
        .leGattExceededBackgroundNotificationLimit,
        "Too many notifications arrived in the background."
      ),
      (
        .leGattNearBackgroundNotificationLimit,
        "Notifications in the background are near their limit."
      ),
    ]

    /// Creates a code from any number; never nil, as for an enumeration of C.
    public init?(rawValue: Int) { self.init(number: rawValue) }

    init(number: Int) {
      self = Self.named.indices.contains(number) ? Self.named[number].code : .other(number)
    }

    public var rawValue: Int {
      switch self {
      case .unknown: 0
      case .invalidParameters: 1
      case .invalidHandle: 2
      case .notConnected: 3
      case .outOfSpace: 4
      case .operationCancelled: 5
      case .connectionTimeout: 6
      case .peripheralDisconnected: 7
      case .uuidNotAllowed: 8
      case .alreadyAdvertising: 9
      case .connectionFailed: 10
      case .connectionLimitReached: 11
      case .unkownDevice: 12
      case .operationNotSupported: 13
      case .peerRemovedPairingInformation: 14
      case .encryptionTimedOut: 15
      case .tooManyLEPairedDevices: 16
      case .leGattExceededBackgroundNotificationLimit: 17
      case .leGattNearBackgroundNotificationLimit: 18
      case .other(let number): number
      }
    }

    /// Lets a code be a pattern for any error.
    public static func ~= (code: CBError.Code, error: any Error) -> Bool {
      (error as? CBError)?.code == code
    }

    /// The text for people.
    var text: String {
      Self.named.indices.contains(rawValue) ? Self.named[rawValue].text : "Unknown error."
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
