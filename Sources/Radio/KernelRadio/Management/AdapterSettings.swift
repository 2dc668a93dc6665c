/// The settings that an adapter supports, or those that are on (MGMT_SETTING_*). Unknown bits are
/// kept.
public struct AdapterSettings: OptionSet, Hashable, Sendable {
  public let rawValue: UInt32
  public init(rawValue: UInt32) { self.rawValue = rawValue }

  /// MGMT_SETTING_POWERED
  public static let powered = Self(rawValue: 1 << 0)
  /// MGMT_SETTING_BONDABLE
  public static let bondable = Self(rawValue: 1 << 4)
  /// MGMT_SETTING_LE
  public static let le = Self(rawValue: 1 << 9)
  /// MGMT_SETTING_SECURE_CONN
  public static let secureConnections = Self(rawValue: 1 << 11)

  /// The names of the bits, lowest first.
  private static let names = [
    "powered", "connectable", "fast-connectable", "discoverable", "bondable", "link-security",
    "ssp", "br/edr", "hs", "le", "advertising", "secure-conn", "debug-keys", "privacy",
    "configuration", "static-addr", "phy-configuration", "wide-band-speech",
  ]

  /// The names of the known settings, in the order of the bits.
  public var words: [String] {
    Self.names.indices.filter { rawValue & 1 << $0 != 0 }.map { Self.names[$0] }
  }
}
