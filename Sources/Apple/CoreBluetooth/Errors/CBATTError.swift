import Foundation

/// The domain of ``CBATTError`` as an NSError.
public let CBATTErrorDomain: String = "CBATTErrorDomain"

/// The error that a peer answers to a request, or that this side answers. Vol 3, Part F, 3.4.1.1.
public struct CBATTError: Error, CustomNSError, LocalizedError, Hashable, _BridgedError {
  /// The code of the error.
  public private(set) var code: CBATTError.Code
  private let information: UncheckedBox<[String: Any]>

  /// - Parameter userInfo: as in `NSError`.
  public init(_ code: CBATTError.Code, userInfo: [String: Any] = [:]) {
    self.code = code
    information = UncheckedBox(userInfo)
  }

  public init(_nsError error: NSError) {
    code = CBATTError.Code(number: error.code)
    information = UncheckedBox(error.userInfo)
  }

  /// The domain of errors of this type.
  public static var errorDomain: String { CBATTErrorDomain }
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

  public static func == (a: CBATTError, b: CBATTError) -> Bool { a.code == b.code }
  public func hash(into hasher: inout Hasher) { hasher.combine(code) }
}

extension CBATTError {
  /// An error code: an octet on the wire. Apple names the first eighteen.
  public enum Code: RawRepresentable, Hashable, Sendable {
    case success
    case invalidHandle
    case readNotPermitted
    case writeNotPermitted
    case invalidPdu
    case insufficientAuthentication
    case requestNotSupported
    case invalidOffset
    case insufficientAuthorization
    case prepareQueueFull
    case attributeNotFound
    case attributeNotLong
    case insufficientEncryptionKeySize
    case invalidAttributeValueLength
    case unlikelyError
    case insufficientEncryption
    case unsupportedGroupType
    case insufficientResources
    /// A code without a name; `init(rawValue:)` creates it.
    case other(Int)

    /// The named codes from 0x00 on.
    private static let named: [(code: Code, text: String)] = [
      (.success, "Success."),
      (.invalidHandle, "The handle is invalid."),
      (.readNotPermitted, "Reading is not permitted."),
      (.writeNotPermitted, "Writing is not permitted."),
      (.invalidPdu, "The command is invalid."),
      (.insufficientAuthentication, "Authentication is insufficient."),
      (.requestNotSupported, "The request is not supported."),
      (.invalidOffset, "The offset is invalid."),
      (.insufficientAuthorization, "Authorization is insufficient."),
      (.prepareQueueFull, "The prepare queue is full."),
      (.attributeNotFound, "The attribute could not be found."),
      (.attributeNotLong, "The attribute is not long."),
      (.insufficientEncryptionKeySize, "The encryption key size is insufficient."),
      (.invalidAttributeValueLength, "The value's length is invalid."),
      (.unlikelyError, "Unlikely error."),
      (.insufficientEncryption, "Encryption is insufficient."),
      (.unsupportedGroupType, "The group type is unsupported."),
      (.insufficientResources, "Resources are insufficient."),
    ]

    /// Creates a code from any number; never nil, as for an enumeration of C. A number that is not an
    /// octet is sent as Unlikely Error.
    public init?(rawValue: Int) { self.init(number: rawValue) }

    init(number: Int) {
      self = Self.named.indices.contains(number) ? Self.named[number].code : .other(number)
    }

    /// The code as on the wire.
    public var rawValue: Int {
      switch self {
      case .success: 0x00
      case .invalidHandle: 0x01
      case .readNotPermitted: 0x02
      case .writeNotPermitted: 0x03
      case .invalidPdu: 0x04
      case .insufficientAuthentication: 0x05
      case .requestNotSupported: 0x06
      case .invalidOffset: 0x07
      case .insufficientAuthorization: 0x08
      case .prepareQueueFull: 0x09
      case .attributeNotFound: 0x0A
      case .attributeNotLong: 0x0B
      case .insufficientEncryptionKeySize: 0x0C
      case .invalidAttributeValueLength: 0x0D
      case .unlikelyError: 0x0E
      case .insufficientEncryption: 0x0F
      case .unsupportedGroupType: 0x10
      case .insufficientResources: 0x11
      case .other(let number): number
      }
    }

    public static func == (a: Code, b: Code) -> Bool { a.rawValue == b.rawValue }
    public func hash(into hasher: inout Hasher) { hasher.combine(rawValue) }

    /// Lets a code be a pattern for any error.
    public static func ~= (code: CBATTError.Code, error: any Error) -> Bool {
      (error as? CBATTError)?.code == code
    }

    /// The text for people.
    var text: String {
      Self.named.indices.contains(rawValue)
        ? Self.named[rawValue].text
        : "Error 0x" + String(rawValue, radix: 16, uppercase: true) + "."
    }
  }

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
