/// The protection of a link, which applies to all its bearers. Vol 3, Part C, 10.2.1.
///
/// The names are the kernel's (`BT_SECURITY_LOW` to `BT_SECURITY_FIPS`). They map one to one to the
/// levels of LE security mode 1.
@frozen public enum SecurityLevel: UInt8, Hashable, Comparable, Sendable, CaseIterable {
  /// Not encrypted (mode 1, level 1).
  case low = 1
  /// Encrypted with an unauthenticated key (level 2).
  case medium = 2
  /// Encrypted with an authenticated key (level 3).
  case high = 3
  /// Encrypted with an authenticated LE Secure Connections key of 128 bits (level 4).
  case fips = 4

  @inlinable public static func < (a: SecurityLevel, b: SecurityLevel) -> Bool {
    a.rawValue < b.rawValue
  }
}

/// The security level of a link and the size of its encryption key.
@frozen public struct LinkSecurity: Hashable, Sendable {
  /// The security level.
  public var level: SecurityLevel
  /// The length of the encryption key: 7 to 16 octets, or 0 if the link is not encrypted.
  public var keySize: UInt8

  /// Creates the security of a link from its level and key size.
  @inlinable public init(level: SecurityLevel, keySize: UInt8) {
    self.level = level
    self.keySize = keySize
  }

  /// An unencrypted link.
  public static let low = LinkSecurity(level: .low, keySize: 0)

  /// Creates a level with a key of 16 octets, or none for `low`.
  @inlinable public init(_ level: SecurityLevel) {
    self.init(level: level, keySize: level == .low ? 0 : 16)
  }
}
