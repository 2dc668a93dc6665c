/// What a central may do with a value that is published here.
public struct CBAttributePermissions: OptionSet, Sendable {
  public let rawValue: UInt
  public init(rawValue: UInt) { self.rawValue = rawValue }

  public static var readable: CBAttributePermissions { .init(rawValue: 0x01) }
  public static var writeable: CBAttributePermissions { .init(rawValue: 0x02) }
  public static var readEncryptionRequired: CBAttributePermissions { .init(rawValue: 0x04) }
  public static var writeEncryptionRequired: CBAttributePermissions { .init(rawValue: 0x08) }
}
