/// Why a request was refused: the last octet of an Error Response. Vol 3, Part F, 3.4.1.1,
/// and the Core Specification Supplement, Part B, for 0xE0 to 0xFF.
///
/// The space is open: an unknown code is a failure with that code, and prints as hex. Codes
/// 0x80 to 0x9F are the application's.
@frozen public struct ErrorCode: RawRepresentable, Hashable, Sendable {
  public let rawValue: UInt8

  @inlinable public init(rawValue: UInt8) { self.rawValue = rawValue }
  /// The code of this number.
  @inlinable public init(_ rawValue: UInt8) { self.rawValue = rawValue }

  /// There is no such attribute. 0x01.
  public static let invalidHandle = ErrorCode(0x01)
  /// It may not be read. 0x02.
  public static let readNotPermitted = ErrorCode(0x02)
  /// It may not be written. 0x03.
  public static let writeNotPermitted = ErrorCode(0x03)
  /// The PDU is malformed. 0x04.
  public static let invalidPDU = ErrorCode(0x04)
  /// It wants a link whose key was authenticated. 0x05.
  public static let insufficientAuthentication = ErrorCode(0x05)
  /// The server does not know the request. 0x06.
  public static let requestNotSupported = ErrorCode(0x06)
  /// The offset lies beyond the value. 0x07.
  public static let invalidOffset = ErrorCode(0x07)
  /// The client is not authorized. 0x08.
  public static let insufficientAuthorization = ErrorCode(0x08)
  /// No more can be prepared. 0x09.
  public static let prepareQueueFull = ErrorCode(0x09)
  /// Nothing in the range is what was asked for. 0x0A.
  public static let attributeNotFound = ErrorCode(0x0A)
  /// It cannot be read by Read Blob. 0x0B.
  public static let attributeNotLong = ErrorCode(0x0B)
  /// It wants a link with a longer key. 0x0C.
  public static let encryptionKeySizeTooShort = ErrorCode(0x0C)
  /// The value has a length that it may not have. 0x0D.
  public static let invalidAttributeValueLength = ErrorCode(0x0D)
  /// Something went wrong that has no other code. 0x0E.
  public static let unlikelyError = ErrorCode(0x0E)
  /// It wants an encrypted link. 0x0F.
  public static let insufficientEncryption = ErrorCode(0x0F)
  /// The type is no grouping attribute of the profile. 0x10.
  public static let unsupportedGroupType = ErrorCode(0x10)
  /// The server has no room for this now. 0x11.
  public static let insufficientResources = ErrorCode(0x11)
  /// What the client knows of the database is out of date. 0x12.
  public static let databaseOutOfSync = ErrorCode(0x12)
  /// The value is none that it may have. 0x13.
  public static let valueNotAllowed = ErrorCode(0x13)
  /// The service refuses the write. 0xFC.
  public static let writeRequestRejected = ErrorCode(0xFC)
  /// The Client Characteristic Configuration is not as the service wants it. 0xFD.
  public static let cccdImproperlyConfigured = ErrorCode(0xFD)
  /// A procedure of the service is under way already. 0xFE.
  public static let procedureAlreadyInProgress = ErrorCode(0xFE)
  /// The value is out of the service's range. 0xFF.
  public static let outOfRange = ErrorCode(0xFF)

  /// The specification's name, or nil if it gives none.
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
    guard let name else { return "error 0x" + hex(rawValue) }
    return name + " (0x" + hex(rawValue) + ")"
  }
}
