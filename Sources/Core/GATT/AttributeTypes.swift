import AttoATT

/// The attribute types that GATT defines. Vol 3, Part G, 3.8 and 7.
extension BluetoothUUID {
  /// Primary Service: 0x2800.
  public static let primaryService = BluetoothUUID(0x2800 as UInt16)
  /// Secondary Service: 0x2801.
  public static let secondaryService = BluetoothUUID(0x2801 as UInt16)
  /// Include: 0x2802.
  public static let include = BluetoothUUID(0x2802 as UInt16)
  /// Characteristic: 0x2803.
  public static let characteristic = BluetoothUUID(0x2803 as UInt16)
  /// Characteristic Extended Properties: 0x2900.
  public static let characteristicExtendedProperties = BluetoothUUID(0x2900 as UInt16)
  /// Characteristic User Description: 0x2901.
  public static let characteristicUserDescription = BluetoothUUID(0x2901 as UInt16)
  /// Client Characteristic Configuration: 0x2902.
  public static let clientCharacteristicConfiguration = BluetoothUUID(0x2902 as UInt16)
  /// Server Characteristic Configuration: 0x2903.
  public static let serverCharacteristicConfiguration = BluetoothUUID(0x2903 as UInt16)
  /// Characteristic Presentation Format: 0x2904.
  public static let characteristicPresentationFormat = BluetoothUUID(0x2904 as UInt16)
  /// Characteristic Aggregate Format: 0x2905.
  public static let characteristicAggregateFormat = BluetoothUUID(0x2905 as UInt16)

  /// Generic Access: 0x1800.
  public static let genericAccess = BluetoothUUID(0x1800 as UInt16)
  /// Generic Attribute: 0x1801.
  public static let genericAttribute = BluetoothUUID(0x1801 as UInt16)
  /// Device Name: 0x2A00.
  public static let deviceName = BluetoothUUID(0x2A00 as UInt16)
  /// Appearance: 0x2A01.
  public static let appearance = BluetoothUUID(0x2A01 as UInt16)
  /// Service Changed: 0x2A05.
  public static let serviceChanged = BluetoothUUID(0x2A05 as UInt16)
  /// Client Supported Features: 0x2B29.
  public static let clientSupportedFeatures = BluetoothUUID(0x2B29 as UInt16)
  /// Database Hash: 0x2B2A.
  public static let databaseHash = BluetoothUUID(0x2B2A as UInt16)
  /// LE GATT Security Levels: 0x2BF5.
  public static let leGATTSecurityLevels = BluetoothUUID(0x2BF5 as UInt16)
  /// Server Supported Features: 0x2B3A.
  public static let serverSupportedFeatures = BluetoothUUID(0x2B3A as UInt16)
}
