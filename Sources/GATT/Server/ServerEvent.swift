import ATT

/// What a server tells the program that it runs in, besides its questions.
public enum ServerEvent: Equatable, Sendable {
  /// A client has written a value that the server keeps.
  case valueWritten(AttributeHandle, by: ClientID)
  /// A client has configured a characteristic.
  case configured(
    value: AttributeHandle, ClientCharacteristicConfiguration, by: ClientID)
  /// A client has announced what it supports.
  case featuresWritten(ClientSupportedFeatures, by: ClientID)
}

/// What a client understands: the first octet of Client Supported Features. Vol 3, Part G,
/// 7.2.
public struct ClientSupportedFeatures: OptionSet, Hashable, Sendable {
  public let rawValue: UInt8
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// It wants Database Out Of Sync. Bit 0.
  public static let robustCaching = ClientSupportedFeatures(rawValue: 0x01)
  /// It may use enhanced bearers. Bit 1.
  public static let enhancedBearer = ClientSupportedFeatures(rawValue: 0x02)
  /// It takes Multiple Handle Value Notifications. Bit 2.
  public static let multipleNotifications = ClientSupportedFeatures(rawValue: 0x04)

  /// The bits that have a meaning; all others are ignored.
  static let known: ClientSupportedFeatures = [
    .robustCaching, .enhancedBearer, .multipleNotifications,
  ]
}
