/// How well the link under a bearer is protected: a property of the link, shared by all its
/// bearers. Vol 3, Part C, 10.2.1.
///
/// The names are the kernel's (`BT_SECURITY_LOW` to `BT_SECURITY_FIPS`), which map one to one
/// to the levels of LE security mode 1.
@frozen public enum SecurityLevel: UInt8, Hashable, Comparable, Sendable, CaseIterable {
  /// Not encrypted (mode 1, level 1).
  case low = 1
  /// Encrypted with a key that nobody authenticated (level 2).
  case medium = 2
  /// Encrypted with an authenticated key (level 3).
  case high = 3
  /// Encrypted with an authenticated LE Secure Connections key of 128 bits (level 4).
  case fips = 4

  @inlinable public static func < (a: SecurityLevel, b: SecurityLevel) -> Bool {
    a.rawValue < b.rawValue
  }
}

/// The level of a link together with the size of its encryption key.
@frozen public struct LinkSecurity: Hashable, Sendable {
  /// How well the link is protected.
  public var level: SecurityLevel
  /// Octets of the encryption key, 7 to 16; 0 while the link is not encrypted.
  public var keySize: UInt8

  /// One with these values; its properties say what each means.
  @inlinable public init(level: SecurityLevel, keySize: UInt8) {
    self.level = level
    self.keySize = keySize
  }

  /// A link in the clear.
  public static let low = LinkSecurity(level: .low, keySize: 0)

  /// A level with the longest key: 16 octets, none for `low`.
  @inlinable public init(_ level: SecurityLevel) {
    self.init(level: level, keySize: level == .low ? 0 : 16)
  }
}
