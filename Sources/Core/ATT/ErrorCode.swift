/// The reason for a refusal: the last octet of an Error Response. Vol 3, Part F, 3.4.1.1, and the
/// Core Specification Supplement, Part B, for 0xE0 to 0xFF.
///
/// Any number is a valid code; unknown ones print as hex. Applications define 0x80 to 0x9F. A server's
/// handlers throw it to refuse a request.
@frozen public struct ErrorCode: Error, RawRepresentable, Hashable, Sendable {
  public let rawValue: UInt8

  @inlinable public init(rawValue: UInt8) { self.rawValue = rawValue }
  /// Creates a code from its number.
  @inlinable public init(_ rawValue: UInt8) { self.rawValue = rawValue }

  /// The attribute does not exist. 0x01.
  public static let invalidHandle = ErrorCode(0x01)
  /// The attribute cannot be read. 0x02.
  public static let readNotPermitted = ErrorCode(0x02)
  /// The attribute cannot be written. 0x03.
  public static let writeNotPermitted = ErrorCode(0x03)
  /// The PDU is malformed. 0x04.
  public static let invalidPDU = ErrorCode(0x04)
  /// The attribute requires an authenticated link. 0x05.
  public static let insufficientAuthentication = ErrorCode(0x05)
  /// The server does not support the request. 0x06.
  public static let requestNotSupported = ErrorCode(0x06)
  /// The offset is past the end of the value. 0x07.
  public static let invalidOffset = ErrorCode(0x07)
  /// The client is not authorized. 0x08.
  public static let insufficientAuthorization = ErrorCode(0x08)
  /// Too many prepared writes are queued. 0x09.
  public static let prepareQueueFull = ErrorCode(0x09)
  /// No attribute in the range matches. 0x0A.
  public static let attributeNotFound = ErrorCode(0x0A)
  /// The attribute cannot be read with Read Blob. 0x0B.
  public static let attributeNotLong = ErrorCode(0x0B)
  /// The attribute requires a longer encryption key. 0x0C.
  public static let encryptionKeySizeTooShort = ErrorCode(0x0C)
  /// The length of the value is not allowed. 0x0D.
  public static let invalidAttributeValueLength = ErrorCode(0x0D)
  /// An error without a code of its own. 0x0E.
  public static let unlikelyError = ErrorCode(0x0E)
  /// The attribute requires an encrypted link. 0x0F.
  public static let insufficientEncryption = ErrorCode(0x0F)
  /// The type is not a grouping attribute. 0x10.
  public static let unsupportedGroupType = ErrorCode(0x10)
  /// The server lacks the resources for the request. 0x11.
  public static let insufficientResources = ErrorCode(0x11)
  /// The client's view of the database is out of date. 0x12.
  public static let databaseOutOfSync = ErrorCode(0x12)
  /// The value is not allowed. 0x13.
  public static let valueNotAllowed = ErrorCode(0x13)
  /// The service rejects the write. 0xFC.
  public static let writeRequestRejected = ErrorCode(0xFC)
  /// The Client Characteristic Configuration does not suit the service. 0xFD.
  public static let cccdImproperlyConfigured = ErrorCode(0xFD)
  /// A procedure of the service is already in progress. 0xFE.
  public static let procedureAlreadyInProgress = ErrorCode(0xFE)
  /// The value is outside the range that the service defines. 0xFF.
  public static let outOfRange = ErrorCode(0xFF)

  /// The specification's name; nil if there is none.
  public var name: String? {
    switch rawValue {
    case 0x01: "Invalid Handle"
    case 0x02: "Read Not Permitted"
    case 0x03: "Write Not Permitted"
    case 0x04: "Invalid PDU"
    case 0x05: "Insufficient Authentication"
    case 0x06: "Request Not Supported"
    case 0x07: "Invalid Offset"
    case 0x08: "Insufficient Authorization"
    case 0x09: "Prepare Queue Full"
    case 0x0A: "Attribute Not Found"
    case 0x0B: "Attribute Not Long"
    case 0x0C: "Encryption Key Size Too Short"
    case 0x0D: "Invalid Attribute Value Length"
    case 0x0E: "Unlikely Error"
    case 0x0F: "Insufficient Encryption"
    case 0x10: "Unsupported Group Type"
    case 0x11: "Insufficient Resources"
    case 0x12: "Database Out Of Sync"
    case 0x13: "Value Not Allowed"
    case 0x80...0x9F: "Application Error"
    case 0xFC: "Write Request Rejected"
    case 0xFD: "Client Characteristic Configuration Descriptor Improperly Configured"
    case 0xFE: "Procedure Already In Progress"
    case 0xFF: "Out Of Range"
    default: nil
    }
  }
}

extension ErrorCode: CustomStringConvertible {
  /// `Invalid Handle (0x01)`; `error 0x5C` if the code has no name.
  public var description: String {
    guard let name else { return "error 0x" + Hex.digits(rawValue) }
    return name + " (0x" + Hex.digits(rawValue) + ")"
  }
}
