/// What an adapter can do, or what is switched on. Unknown bits are kept.
public struct AdapterSettings: OptionSet, Hashable, Sendable {
  public let rawValue: UInt32
  public init(rawValue: UInt32) { self.rawValue = rawValue }

  /// MGMT_SETTING_POWERED
  public static let powered = Self(rawValue: 1 << 0)
  /// MGMT_SETTING_CONNECTABLE
  public static let connectable = Self(rawValue: 1 << 1)
  /// MGMT_SETTING_FAST_CONNECTABLE
  public static let fastConnectable = Self(rawValue: 1 << 2)
  /// MGMT_SETTING_DISCOVERABLE
  public static let discoverable = Self(rawValue: 1 << 3)
  /// MGMT_SETTING_BONDABLE
  public static let bondable = Self(rawValue: 1 << 4)
  /// MGMT_SETTING_LINK_SECURITY
  public static let linkSecurity = Self(rawValue: 1 << 5)
  /// MGMT_SETTING_SSP
  public static let simplePairing = Self(rawValue: 1 << 6)
  /// MGMT_SETTING_BREDR
  public static let brEDR = Self(rawValue: 1 << 7)
  /// MGMT_SETTING_HS
  public static let highSpeed = Self(rawValue: 1 << 8)
  /// MGMT_SETTING_LE
  public static let le = Self(rawValue: 1 << 9)
  /// MGMT_SETTING_ADVERTISING
  public static let advertising = Self(rawValue: 1 << 10)
  /// MGMT_SETTING_SECURE_CONN
  public static let secureConnections = Self(rawValue: 1 << 11)
  /// MGMT_SETTING_DEBUG_KEYS
  public static let debugKeys = Self(rawValue: 1 << 12)
  /// MGMT_SETTING_PRIVACY
  public static let privacy = Self(rawValue: 1 << 13)
  /// MGMT_SETTING_CONFIGURATION
  public static let configuration = Self(rawValue: 1 << 14)
  /// MGMT_SETTING_STATIC_ADDRESS
  public static let staticAddress = Self(rawValue: 1 << 15)
  /// MGMT_SETTING_PHY_CONFIGURATION
  public static let phyConfiguration = Self(rawValue: 1 << 16)
  /// MGMT_SETTING_WIDEBAND_SPEECH
  public static let widebandSpeech = Self(rawValue: 1 << 17)

  private static let names: [(AdapterSettings, String)] = [
    (.powered, "powered"), (.connectable, "connectable"),
    (.fastConnectable, "fast-connectable"), (.discoverable, "discoverable"),
    (.bondable, "bondable"), (.linkSecurity, "link-security"), (.simplePairing, "ssp"),
    (.brEDR, "br/edr"), (.highSpeed, "hs"), (.le, "le"), (.advertising, "advertising"),
    (.secureConnections, "secure-conn"), (.debugKeys, "debug-keys"), (.privacy, "privacy"),
    (.configuration, "configuration"), (.staticAddress, "static-addr"),
    (.phyConfiguration, "phy-configuration"), (.widebandSpeech, "wide-band-speech"),
  ]

  /// The names of the known ones, in the order of the bits.
  public var words: [String] { Self.names.filter { contains($0.0) }.map(\.1) }
}
