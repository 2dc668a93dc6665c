import ATT

/// Who may read and who may write an attribute. Vol 3, Part F, 3.2.5.
public struct AttributePermissions: Equatable, Sendable {
  /// Who may read.
  public var read: Access
  /// Who may write.
  public var write: Access

  /// One with these values; its properties say what each means.
  public init(read: Access = .denied, write: Access = .denied) {
    self.read = read
    self.write = write
  }

  /// Readable by anyone, writable by nobody: what declarations are.
  public static let readOnly = AttributePermissions(read: .open)
  /// Everybody may write, nobody read.
  public static let writeOnly = AttributePermissions(write: .open)
  /// Everybody may read and write.
  public static let readWrite = AttributePermissions(read: .open, write: .open)

  /// One direction.
  public enum Access: Equatable, Sendable {
    /// Never: Read Not Permitted or Write Not Permitted.
    case denied
    /// When the link, and the application, meet these conditions.
    case requires(Requirement)

    /// Always.
    public static let open = Access.requires(Requirement())
  }

  /// What a link must offer, and whether the application is asked each time.
  public struct Requirement: Equatable, Sendable {
    /// The least security of the link.
    public var security: SecurityLevel
    /// The shortest encryption key in octets, 7 to 16; 0 for any.
    public var keySize: UInt8
    /// Whether the application decides each time (Insufficient Authorization).
    public var authorization: Bool

    /// One with these values; its properties say what each means.
    public init(
      security: SecurityLevel = .low, keySize: UInt8 = 0, authorization: Bool = false
    ) {
      self.security = security
      self.keySize = keySize
      self.authorization = authorization
    }

    /// Whether it asks for nothing, so that every link will do.
    @inline(__always) var isNone: Bool { security == .low && keySize == 0 && !authorization }

    /// What a link that falls short is told, in this order: Insufficient Encryption if
    /// encryption is all it lacks, Insufficient Authentication if its key must be
    /// authenticated, Encryption Key Size Too Short. nil if the link will do.
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
