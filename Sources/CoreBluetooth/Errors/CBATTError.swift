import Foundation

/// The domain of ``CBATTError`` where it travels as an NSError.
public let CBATTErrorDomain: String = "CBATTErrorDomain"

/// What a peer answered to a request, or is to be answered. Vol 3, Part F, 3.4.1.1.
public struct CBATTError: Error, CustomNSError, LocalizedError, Hashable {
  private let kind: Code
  private let information: Carried<[String: Any]>

  /// - Parameter userInfo: what `NSError` calls by that name.
  public init(_ code: CBATTError.Code, userInfo: [String: Any] = [:]) {
    kind = code
    information = Carried(userInfo)
  }

  /// The domain of errors of this type.
  public static var errorDomain: String { CBATTErrorDomain }
  /// What went wrong.
  public var code: CBATTError.Code { kind }
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

  public static func == (a: CBATTError, b: CBATTError) -> Bool { a.kind == b.kind }
  public func hash(into hasher: inout Hasher) { hasher.combine(kind) }
}

extension CBATTError.Code {
  /// Lets a code be a pattern for any error.
  public static func ~= (code: CBATTError.Code, error: any Error) -> Bool {
    (error as? CBATTError)?.code == code
  }
}

extension CBATTError {
  public static var success: CBATTError.Code { .success }
  public static var invalidHandle: CBATTError.Code { .invalidHandle }
  public static var readNotPermitted: CBATTError.Code { .readNotPermitted }
  public static var writeNotPermitted: CBATTError.Code { .writeNotPermitted }
  public static var invalidPdu: CBATTError.Code { .invalidPdu }
  public static var insufficientAuthentication: CBATTError.Code { .insufficientAuthentication }
  public static var requestNotSupported: CBATTError.Code { .requestNotSupported }
  public static var invalidOffset: CBATTError.Code { .invalidOffset }
  public static var insufficientAuthorization: CBATTError.Code { .insufficientAuthorization }
  public static var prepareQueueFull: CBATTError.Code { .prepareQueueFull }
  public static var attributeNotFound: CBATTError.Code { .attributeNotFound }
  public static var attributeNotLong: CBATTError.Code { .attributeNotLong }
  public static var insufficientEncryptionKeySize: CBATTError.Code {
    .insufficientEncryptionKeySize
  }
  public static var invalidAttributeValueLength: CBATTError.Code { .invalidAttributeValueLength }
  public static var unlikelyError: CBATTError.Code { .unlikelyError }
  public static var insufficientEncryption: CBATTError.Code { .insufficientEncryption }
  public static var unsupportedGroupType: CBATTError.Code { .unsupportedGroupType }
  public static var insufficientResources: CBATTError.Code { .insufficientResources }
}
