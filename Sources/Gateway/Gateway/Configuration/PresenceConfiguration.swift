import Atto
import AttoATT
import AttoFormats
import AttoText

/// A device whose presence is published. No link is held to it.
package struct PresenceConfiguration: Equatable, Sendable {
  /// How the device is recognised.
  package enum Identity: Hashable, Sendable {
    /// By its address, whose kind is not compared.
    case address(BluetoothAddress)
    /// By the key that resolves its private addresses: 16 octets, the most significant first.
    case key([UInt8])
    /// By Apple's iBeacon; nil: any number.
    case beacon(uuid: [UInt8], major: UInt16?, minor: UInt16?)
  }

  /// The name in topics: as ``Configuration/name``.
  package var name: String
  package var identity: Identity
  /// How long after its last advertisement the device is away, 10 s to a day.
  package var awayTime: Duration = .seconds(180)

  /// Whether it holds the key of a device's private addresses. Whoever has the key can follow the device.
  var hasKey: Bool {
    if case .key = identity { true } else { false }
  }

  package init(name: String, _ identity: Identity) {
    self.name = name
    self.identity = identity
  }
}

extension PresenceConfiguration {
  static let keys = ["name", "address", "irk", "iBeacon", "awaySeconds"]
  /// Devices of a gateway.
  static let limit = 256

  private init(_ field: ProfileField) throws(ProfileError) {
    let object = try ProfileObject(field, keys: Self.keys)
    let name = try object.required("name", "the device's name").name
    var identities: [Identity] = []
    if let field = object["address"] { identities.append(.address(try field.address)) }
    if let field = object["irk"] { identities.append(.key(try field.identityKey)) }
    if let field = object["iBeacon"] { identities.append(try Self.beacon(field)) }
    guard identities.count == 1 else {
      throw ProfileError(
        field.path, expected: "one of the keys address, irk, iBeacon",
        found: identities.isEmpty ? "none" : "several")
    }
    self.init(name: name, identities[0])
    if let field = object["awaySeconds"] { awayTime = try field.seconds(10...86_400) }
  }

  private static func beacon(_ field: ProfileField) throws(ProfileError) -> Identity {
    let object = try ProfileObject(field, keys: ["uuid", "major", "minor"])
    let uuid = try object.required("uuid", "the UUID of the beacon").uuid
    let major = (try object["major"]?.integer(0...65_535)).map(UInt16.init)
    let minor = (try object["minor"]?.integer(0...65_535)).map(UInt16.init)
    return .beacon(
      uuid: Hex.octets(uuid.fullDescription.utf8.filter { $0 != 0x2D }) ?? [], major: major,
      minor: minor)
  }

  /// Reads the list of devices.
  ///
  /// - Parameter names: the names that are taken.
  static func list(
    _ field: ProfileField, besides names: [String]
  ) throws(ProfileError) -> [PresenceConfiguration] {
    var found: [PresenceConfiguration] = []
    for field in try field.list {
      let new = try PresenceConfiguration(field)
      guard found.count < limit else {
        throw ProfileError(field.path, expected: "at most \(limit) devices", found: "another")
      }
      guard !names.contains(new.name), !found.contains(where: { $0.name == new.name }) else {
        throw ProfileError(
          field.path / "name", expected: "each name once", found: "\"\(new.name)\" again")
      }
      if let other = found.first(where: { $0.identity == new.identity }) {
        throw ProfileError(
          field.path, expected: "another device than \"\(other.name)\"", found: "the same")
      }
      found.append(new)
    }
    return found
  }
}

extension ProfileField {
  /// A key as Home Assistant takes it: 32 hexadecimal digits, or base64 that begins with the least significant
  /// octet, as Apple's systems show it. Errors do not show it.
  fileprivate var identityKey: [UInt8] {
    get throws(ProfileError) {
      let expected = "16 octets in hex or base64"
      let text = try string(expected)
      let octets =
        text.hasSuffix("=")
        ? Base64.decode(text.utf8).map { $0.reversed() } : Hex.octets(text.utf8)
      guard let octets, octets.count == 16 else {
        throw ProfileError(path, expected: expected, found: "another text")
      }
      return octets
    }
  }
}
