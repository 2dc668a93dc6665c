extension Profile {
  /// What may be done with a characteristic, as its declaration says. Vol 3, Part G, 3.3.1.1.
  public struct Properties: OptionSet, Hashable, Sendable {
    public let rawValue: UInt8

    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The value may be broadcast. 0x01.
    public static let broadcast = Properties(rawValue: 0x01)
    /// The value may be read. 0x02.
    public static let read = Properties(rawValue: 0x02)
    /// The value may be written by Write Command. 0x04.
    public static let writeWithoutResponse = Properties(rawValue: 0x04)
    /// The value may be written by Write Request. 0x08.
    public static let write = Properties(rawValue: 0x08)
    /// The value may be notified. 0x10.
    public static let notify = Properties(rawValue: 0x10)
    /// The value may be indicated. 0x20.
    public static let indicate = Properties(rawValue: 0x20)
    /// The value may be written by Signed Write Command. 0x40.
    public static let authenticatedSignedWrites = Properties(rawValue: 0x40)
    // swift-format-ignore: DontRepeatTypeInStaticProperties
    /// A descriptor has further properties. 0x80.
    public static let extendedProperties = Properties(rawValue: 0x80)

    /// The words of profile files, in the order of the bits.
    public static let names: [(name: String, property: Properties)] = [
      ("broadcast", .broadcast), ("read", .read),
      ("writeWithoutResponse", .writeWithoutResponse), ("write", .write), ("notify", .notify),
      ("indicate", .indicate), ("authenticatedSignedWrites", .authenticatedSignedWrites),
      ("extendedProperties", .extendedProperties),
    ]
  }

  /// The value of the Characteristic Extended Properties descriptor. Vol 3, Part G, 3.3.3.1.
  public struct ExtendedProperties: OptionSet, Hashable, Sendable {
    public let rawValue: UInt16

    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// The value may be written reliably. 0x0001.
    public static let reliableWrite = ExtendedProperties(rawValue: 0x0001)
    /// The user description may be written. 0x0002.
    public static let writableAuxiliaries = ExtendedProperties(rawValue: 0x0002)

    /// The words of profile files, in the order of the bits.
    public static let names: [(name: String, property: ExtendedProperties)] = [
      ("reliableWrite", .reliableWrite), ("writableAuxiliaries", .writableAuxiliaries),
    ]
  }

  /// Who may read and write a value. Vol 3, Part F, 3.2.5.
  ///
  /// The empty set allows nobody anything. A word that asks for protection allows the access
  /// too: `readEncrypted` alone is readable over an encrypted link.
  public struct Permissions: OptionSet, Hashable, Sendable {
    public let rawValue: UInt16

    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// It may be read.
    public static let read = Permissions(rawValue: 1 << 0)
    /// It may be written.
    public static let write = Permissions(rawValue: 1 << 1)
    /// Only over an encrypted link.
    public static let readEncrypted = Permissions(rawValue: 1 << 2)
    /// It may be written on an encrypted link.
    public static let writeEncrypted = Permissions(rawValue: 1 << 3)
    /// Only over a link encrypted with an authenticated key.
    public static let readAuthenticated = Permissions(rawValue: 1 << 4)
    /// It may be written on a link whose key was authenticated.
    public static let writeAuthenticated = Permissions(rawValue: 1 << 5)
    /// Only over a link with an authenticated LE Secure Connections key.
    public static let readSecure = Permissions(rawValue: 1 << 6)
    /// It may be written on a link whose key was made with Secure Connections and authenticated.
    public static let writeSecure = Permissions(rawValue: 1 << 7)
    /// Only after the application agreed.
    public static let readAuthorized = Permissions(rawValue: 1 << 8)
    /// It may be written by who is authorized.
    public static let writeAuthorized = Permissions(rawValue: 1 << 9)

    /// The words of profile files, in the order of the bits.
    public static let names: [(name: String, permission: Permissions)] = [
      ("read", .read), ("write", .write), ("readEncrypted", .readEncrypted),
      ("writeEncrypted", .writeEncrypted), ("readAuthenticated", .readAuthenticated),
      ("writeAuthenticated", .writeAuthenticated), ("readSecure", .readSecure),
      ("writeSecure", .writeSecure), ("readAuthorized", .readAuthorized),
      ("writeAuthorized", .writeAuthorized),
    ]

    /// Everything that allows a read.
    public static let anyRead: Permissions = [
      .read, .readEncrypted, .readAuthenticated, .readSecure, .readAuthorized,
    ]
    /// Everything that allows a write.
    public static let anyWrite: Permissions = [
      .write, .writeEncrypted, .writeAuthenticated, .writeSecure, .writeAuthorized,
    ]
    /// Everything that asks for an encrypted link, and so gives a key size a meaning.
    public static let anyEncrypted: Permissions = [
      .readEncrypted, .writeEncrypted, .readAuthenticated, .writeAuthenticated, .readSecure,
      .writeSecure,
    ]

    /// Whether some link may read.
    public var isReadable: Bool { !isDisjoint(with: .anyRead) }
    /// Whether some link may write.
    public var isWritable: Bool { !isDisjoint(with: .anyWrite) }

    /// What the properties of a characteristic ask for where the file says nothing.
    public init(for properties: Properties) {
      self = []
      if properties.contains(.read) { insert(.read) }
      if !properties.isDisjoint(with: [.write, .writeWithoutResponse, .authenticatedSignedWrites]) {
        insert(.write)
      }
    }
  }
}
