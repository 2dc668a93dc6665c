import ATT
import Links

/// What the two ends of a link on the virtual air say to each other beside the ATT channel: one
/// of these in each packet of the control socket.
///
/// The first octet is the opcode; what follows has a fixed length, except for the name that ends
/// a hello. Everything else is refused: `init(octets:)` returns nil.
///
/// | Opcode | Octets after it |
/// |---|---|
/// | 01 hello | version (1), address (6), name (0 to 64, UTF-8) |
/// | 02 accept | none; the ATT channel's descriptor comes along |
/// | 03 reject | reason (1) |
/// | 04 raise | security level (1), longest key (1) |
/// | 05 raised | security level (1), key size (1) |
/// | 06 disconnect | reason (1) |
/// | 07 timing | see `AirTiming.octets` (26) |
enum AirControl: Equatable {
  /// The central says who it is.
  case hello(address: BluetoothAddress, name: String)
  /// The peripheral takes the connection.
  case accept
  /// The peripheral does not take it.
  case reject(DisconnectReason)
  /// Asks for a level of security, with a key of at most so many octets.
  case raise(LinkSecurity)
  /// Answers `raise`: what the link has from now on.
  case raised(LinkSecurity)
  /// Says why the link is going to end.
  case disconnect(DisconnectReason)
  /// The central says, once, how the link is to be timed in the direction towards it.
  case timing(AirTiming)

  /// What both ends must speak.
  static let version: UInt8 = 1
  static let nameLimit = 64
  /// No control is longer.
  static let lengthLimit = 8 + nameLimit

  var octets: [UInt8] {
    switch self {
    case .hello(let address, let name):
      [1, Self.version] + address.littleEndian + name.utf8.prefix(Self.nameLimit)
    case .accept: [2]
    case .reject(let reason): [3, reason.rawValue]
    case .raise(let security): [4, security.level.rawValue, security.keySize]
    case .raised(let security): [5, security.level.rawValue, security.keySize]
    case .disconnect(let reason): [6, reason.rawValue]
    case .timing(let timing): [7] + timing.octets
    }
  }

  init?(octets: ArraySlice<UInt8>) {
    guard let opcode = octets.first, octets.count <= Self.lengthLimit else { return nil }
    let rest = Array(octets.dropFirst())
    switch (opcode, rest.count) {
    case (1, 7...):
      guard rest[0] == Self.version,
        let address = BluetoothAddress(littleEndian: Array(rest[1..<7]), kind: .random),
        let name = String(validating: rest[7...], as: UTF8.self)
      else { return nil }
      self = .hello(address: address, name: name)
    case (2, 0): self = .accept
    case (3, 1): self = .reject(DisconnectReason(rawValue: rest[0]))
    case (4, 2):
      guard let security = LinkSecurity(rest[0], rest[1]) else { return nil }
      self = .raise(security)
    case (5, 2):
      guard let security = LinkSecurity(rest[0], rest[1]) else { return nil }
      self = .raised(security)
    case (6, 1): self = .disconnect(DisconnectReason(rawValue: rest[0]))
    case (7, AirTiming.length):
      guard let timing = AirTiming(octets: rest) else { return nil }
      self = .timing(timing)
    default: return nil
    }
  }
}

extension LinkSecurity {
  /// A level and the key size that can go with it: none for `low`, else 7 to 16 octets.
  fileprivate init?(_ level: UInt8, _ keySize: UInt8) {
    guard let level = SecurityLevel(rawValue: level) else { return nil }
    guard level == .low ? keySize == 0 : (7...16).contains(keySize) else { return nil }
    self.init(level: level, keySize: keySize)
  }
}
