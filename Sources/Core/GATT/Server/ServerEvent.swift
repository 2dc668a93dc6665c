import AttoATT

/// An event that a server reports.
@nonexhaustive public enum ServerEvent: Equatable, Sendable {
  /// A client has written a value that the server holds.
  case valueWritten(AttributeHandle, by: ClientID)
  /// A client has configured a characteristic.
  case configured(
    value: AttributeHandle, ClientCharacteristicConfiguration, by: ClientID)
  /// A client has announced its features.
  case featuresWritten(ClientSupportedFeatures, by: ClientID)
}

/// The features of a client: the first octet of Client Supported Features. Vol 3, Part G,
/// 7.2.
public struct ClientSupportedFeatures: OptionSet, Hashable, Sendable {
  public let rawValue: UInt8
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// The client supports robust caching. Bit 0.
  public static let robustCaching = ClientSupportedFeatures(rawValue: 0x01)
  /// The client supports enhanced bearers. Bit 1.
  public static let enhancedBearer = ClientSupportedFeatures(rawValue: 0x02)
  /// The client supports Multiple Handle Value Notifications. Bit 2.
  public static let multipleNotifications = ClientSupportedFeatures(rawValue: 0x04)

  /// The defined bits; others are ignored.
  static let known: ClientSupportedFeatures = [
    .robustCaching, .enhancedBearer, .multipleNotifications,
  ]
}
