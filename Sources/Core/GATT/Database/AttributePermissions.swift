import AttoATT

/// The conditions for reading and writing an attribute. Vol 3, Part F, 3.2.5.
public struct AttributePermissions: Equatable, Sendable {
  /// The condition for reading.
  public var read: Access
  /// The condition for writing.
  public var write: Access

  /// Creates a value with these properties.
  public init(read: Access = .denied, write: Access = .denied) {
    self.read = read
    self.write = write
  }

  /// Every client may read, none may write, as for declarations.
  public static let readOnly = AttributePermissions(read: .open)
  /// Every client may write, none may read.
  public static let writeOnly = AttributePermissions(write: .open)
  /// Every client may read and write.
  public static let readWrite = AttributePermissions(read: .open, write: .open)

  /// The condition for one direction.
  public enum Access: Equatable, Sendable {
    /// Never: Read Not Permitted or Write Not Permitted.
    case denied
    /// If the link and the application meet these requirements.
    case requires(Requirement)

    /// Always.
    public static let open = Access.requires(Requirement())
  }

  /// The requirements for a link, and whether the application must authorize each access.
  public struct Requirement: Equatable, Sendable {
    /// The minimum security level.
    public var security: SecurityLevel
    /// The minimum length of the encryption key, 7 to 16 octets; 0 for any.
    public var keySize: UInt8
    /// Whether the application must authorize each access.
    public var authorization: Bool

    /// Creates a value with these properties.
    public init(
      security: SecurityLevel = .low, keySize: UInt8 = 0, authorization: Bool = false
    ) {
      self.security = security
      self.keySize = keySize
      self.authorization = authorization
    }

    /// Whether there are no requirements.
    @inline(__always) var isNone: Bool { security == .low && keySize == 0 && !authorization }

    /// The error for a link that does not meet the requirements; nil if it does.
    ///
    /// Insufficient Encryption if only encryption is missing, Insufficient Authentication if the
    /// key must be authenticated, then Encryption Key Size Too Short.
    public func refusal(of link: LinkSecurity) -> ErrorCode? {
      if link.level < security {
        return security == .medium ? .insufficientEncryption : .insufficientAuthentication
      }
      if keySize > 0, link.keySize < keySize {
        return link.level == .low ? .insufficientEncryption : .encryptionKeySizeTooShort
      }
      return nil
    }
  }
}
