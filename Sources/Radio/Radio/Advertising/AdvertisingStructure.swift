import AttoATT

/// One AD structure: a type and its octets, not interpreted. Vol 3, Part C, 11.
public struct AdvertisingStructure: Hashable, Sendable {
  /// The meaning of the octets.
  public var kind: Kind
  /// The octets after the type, at most 254.
  public var value: [UInt8]

  /// Creates a structure.
  public init(_ kind: Kind, _ value: [UInt8]) {
    self.kind = kind
    self.value = value
  }

  /// Octets of the length, the type and the value.
  public var encodedLength: Int { 2 + value.count }

  /// Appends the structure. The value must have at most 254 octets.
  func append(to bytes: inout [UInt8]) {
    bytes.append(UInt8(value.count + 1))
    bytes.append(kind.rawValue)
    bytes += value
  }
}

extension AdvertisingStructure {
  /// An AD type: the assigned numbers, 2.3. Unknown types are kept.
  public struct Kind: RawRepresentable, Hashable, Sendable {
    public var rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Flags. 0x01.
    public static let flags = Kind(rawValue: 0x01)
    /// Incomplete 16-bit Services. 0x02.
    public static let incomplete16BitServices = Kind(rawValue: 0x02)
    /// Complete 16-bit Services. 0x03.
    public static let complete16BitServices = Kind(rawValue: 0x03)
    /// Incomplete 32-bit Services. 0x04.
    public static let incomplete32BitServices = Kind(rawValue: 0x04)
    /// Complete 32-bit Services. 0x05.
    public static let complete32BitServices = Kind(rawValue: 0x05)
    /// Incomplete 128-bit Services. 0x06.
    public static let incomplete128BitServices = Kind(rawValue: 0x06)
    /// Complete 128-bit Services. 0x07.
    public static let complete128BitServices = Kind(rawValue: 0x07)
    /// Shortened Local Name. 0x08.
    public static let shortenedLocalName = Kind(rawValue: 0x08)
    /// Complete Local Name. 0x09.
    public static let completeLocalName = Kind(rawValue: 0x09)
    /// Tx Power Level. 0x0A.
    public static let txPowerLevel = Kind(rawValue: 0x0A)
    /// Solicited 16-bit Services. 0x14.
    public static let solicited16BitServices = Kind(rawValue: 0x14)
    /// Solicited 128-bit Services. 0x15.
    public static let solicited128BitServices = Kind(rawValue: 0x15)
    /// Service Data 16-bit. 0x16.
    public static let serviceData16Bit = Kind(rawValue: 0x16)
    /// Appearance. 0x19.
    public static let appearance = Kind(rawValue: 0x19)
    /// Advertising Interval. 0x1A.
    public static let advertisingInterval = Kind(rawValue: 0x1A)
    /// Solicited 32-bit Services. 0x1F.
    public static let solicited32BitServices = Kind(rawValue: 0x1F)
    /// Service Data 32-bit. 0x20.
    public static let serviceData32Bit = Kind(rawValue: 0x20)
    /// Service Data 128-bit. 0x21.
    public static let serviceData128Bit = Kind(rawValue: 0x21)
    /// Long Advertising Interval. 0x2F.
    public static let longAdvertisingInterval = Kind(rawValue: 0x2F)
    /// Encrypted Data. 0x31.
    public static let encryptedData = Kind(rawValue: 0x31)
    /// Manufacturer Data. 0xFF.
    public static let manufacturerData = Kind(rawValue: 0xFF)
  }
}

extension AdvertisingStructure.Kind: CustomStringConvertible {
  /// The name within a sentence, or `AD type 0x2A`.
  public var description: String {
    switch self {
    case .flags: "flags"
    case .incomplete16BitServices: "incomplete list of 16-bit service UUIDs"
    case .complete16BitServices: "complete list of 16-bit service UUIDs"
    case .incomplete32BitServices: "incomplete list of 32-bit service UUIDs"
    case .complete32BitServices: "complete list of 32-bit service UUIDs"
    case .incomplete128BitServices: "incomplete list of 128-bit service UUIDs"
    case .complete128BitServices: "complete list of 128-bit service UUIDs"
    case .shortenedLocalName: "shortened local name"
    case .completeLocalName: "complete local name"
    case .txPowerLevel: "TX power level"
    case .solicited16BitServices: "list of solicited 16-bit service UUIDs"
    case .solicited32BitServices: "list of solicited 32-bit service UUIDs"
    case .solicited128BitServices: "list of solicited 128-bit service UUIDs"
    case .serviceData16Bit: "service data with a 16-bit UUID"
    case .serviceData32Bit: "service data with a 32-bit UUID"
    case .serviceData128Bit: "service data with a 128-bit UUID"
    case .appearance: "appearance"
    case .advertisingInterval: "advertising interval"
    case .longAdvertisingInterval: "long advertising interval"
    case .encryptedData: "encrypted data"
    case .manufacturerData: "manufacturer specific data"
    default: "AD type 0x" + Hex.digits(rawValue)
    }
  }
}
