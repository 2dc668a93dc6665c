/// The properties of a characteristic: the first octet of its declaration. Vol 3, Part G,
/// 3.3.1.1.
public struct CharacteristicProperties: OptionSet, Hashable, Sendable {
  public let rawValue: UInt8
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// The value can be broadcast. 0x01.
  public static let broadcast = CharacteristicProperties(rawValue: 0x01)
  /// The value can be read. 0x02.
  public static let read = CharacteristicProperties(rawValue: 0x02)
  /// The value can be written with a Write Command. 0x04.
  public static let writeWithoutResponse = CharacteristicProperties(rawValue: 0x04)
  /// The value can be written with a Write Request. 0x08.
  public static let write = CharacteristicProperties(rawValue: 0x08)
  /// The value can be notified. 0x10.
  public static let notify = CharacteristicProperties(rawValue: 0x10)
  /// The value can be indicated. 0x20.
  public static let indicate = CharacteristicProperties(rawValue: 0x20)
  /// The value can be written with a Signed Write Command. 0x40.
  public static let authenticatedSignedWrites = CharacteristicProperties(rawValue: 0x40)
  /// The Extended Properties descriptor has more properties. 0x80.
  public static let extendedProperties = CharacteristicProperties(rawValue: 0x80)
}

/// The value of a Client Characteristic Configuration. Vol 3, Part G, 3.3.3.3.
public struct ClientCharacteristicConfiguration: OptionSet, Hashable, Sendable {
  public let rawValue: UInt16
  public init(rawValue: UInt16) { self.rawValue = rawValue }

  /// Values are notified. 0x0001.
  public static let notification = ClientCharacteristicConfiguration(rawValue: 0x0001)
  /// Values are indicated. 0x0002.
  public static let indication = ClientCharacteristicConfiguration(rawValue: 0x0002)

  /// The value of the attribute.
  package var octets: [UInt8] { [UInt8(rawValue & 0xFF), UInt8(rawValue >> 8)] }
}
