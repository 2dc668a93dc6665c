/// The operations that a characteristic supports. Vol 3, Part G, 3.3.1.1; the last two are Apple's.
public struct CBCharacteristicProperties: OptionSet, Sendable {
  public let rawValue: UInt
  public init(rawValue: UInt) { self.rawValue = rawValue }

  public static var broadcast: CBCharacteristicProperties { .init(rawValue: 0x01) }
  public static var read: CBCharacteristicProperties { .init(rawValue: 0x02) }
  public static var writeWithoutResponse: CBCharacteristicProperties { .init(rawValue: 0x04) }
  public static var write: CBCharacteristicProperties { .init(rawValue: 0x08) }
  public static var notify: CBCharacteristicProperties { .init(rawValue: 0x10) }
  public static var indicate: CBCharacteristicProperties { .init(rawValue: 0x20) }
  public static var authenticatedSignedWrites: CBCharacteristicProperties {
    .init(rawValue: 0x40)
  }
  public static var extendedProperties: CBCharacteristicProperties { .init(rawValue: 0x80) }
  /// Notifications, only on an encrypted link. On the wire it is `notify`.
  public static var notifyEncryptionRequired: CBCharacteristicProperties {
    .init(rawValue: 0x100)
  }
  /// Indications, only on an encrypted link. On the wire it is `indicate`.
  public static var indicateEncryptionRequired: CBCharacteristicProperties {
    .init(rawValue: 0x200)
  }
}

/// The operations that centrals may use on a published value.
public struct CBAttributePermissions: OptionSet, Sendable {
  public let rawValue: UInt
  public init(rawValue: UInt) { self.rawValue = rawValue }

  public static var readable: CBAttributePermissions { .init(rawValue: 0x01) }
  public static var writeable: CBAttributePermissions { .init(rawValue: 0x02) }
  public static var readEncryptionRequired: CBAttributePermissions { .init(rawValue: 0x04) }
  public static var writeEncryptionRequired: CBAttributePermissions { .init(rawValue: 0x08) }
}
