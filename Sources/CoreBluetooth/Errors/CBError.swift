import Foundation

/// The domain of ``CBError`` where it travels as an NSError.
public let CBErrorDomain: String = "CBErrorDomain"

/// Why a connection, an advertisement or a request of an app failed.
public struct CBError: Error, CustomNSError, LocalizedError, Hashable {
  private let kind: Code
  private let information: Carried<[String: Any]>

  /// - Parameter userInfo: what `NSError` calls by that name.
  public init(_ code: CBError.Code, userInfo: [String: Any] = [:]) {
    kind = code
    information = Carried(userInfo)
  }

  /// The domain of errors of this type.
  public static var errorDomain: String { CBErrorDomain }
  /// What went wrong.
  public var code: CBError.Code { kind }
  /// The code as a number.
  public var errorCode: Int { kind.rawValue }
  /// What was given with the code, and what people are told.
  public var userInfo: [String: Any] {
    var all = information.content
    if all[NSLocalizedDescriptionKey] == nil { all[NSLocalizedDescriptionKey] = kind.text }
    return all
  }
  public var errorUserInfo: [String: Any] { userInfo }
  public var errorDescription: String? { localizedDescription }
  /// What people are told.
  public var localizedDescription: String {
    information.content[NSLocalizedDescriptionKey] as? String ?? kind.text
  }

  public static func == (a: CBError, b: CBError) -> Bool { a.kind == b.kind }
  public func hash(into hasher: inout Hasher) { hasher.combine(kind) }
}

extension CBError.Code {
  /// Lets a code be a pattern for any error.
  public static func ~= (code: CBError.Code, error: any Error) -> Bool {
    (error as? CBError)?.code == code
  }
}

extension CBError {
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
