import AttoATT
import AttoLinks
import AttoRadio

/// A message between the ends of a link of the virtual air, beside the ATT channel. Each packet of
/// the control socket holds one.
///
/// The first octet is the opcode. The rest has a fixed length, except for the name that ends a hello.
/// For anything else `init(octets:)` returns nil.
///
/// | Opcode | Octets after it |
/// |---|---|
/// | 01 hello | version (1), address (6), name (0 to 64, UTF-8) |
/// | 02 accept | none; with the descriptor of the ATT channel |
/// | 03 reject | reason (1) |
/// | 04 raise | security level (1), longest key (1) |
/// | 05 raised | security level (1), key size (1) |
/// | 06 disconnect | reason (1) |
/// | 07 pair | capability (1), level (1), longest key (1), highest level (1), bond (8) |
/// | 08 method | method (1), number to compare (4) |
/// | 09 confirm | passkey (4), new bond (8) |
/// | 0A failed | reason (1) |
/// | 0B timing | see `AirTiming.octets` (29) |
/// | 0C open | identifier (1), PSM (2); with the descriptor of an end of the channel |
/// | 0D answer | identifier (1), result (1): 0 or a `ChannelRefusal` |
/// | 0E bearers | identifier (1), count (1), MTU (2) |
/// | 0F bearer | identifier (1), number (1), MTU (2); with the descriptor of an end of the bearer |
/// | 10 opened | identifier (1), result (1): 0 or a `ChannelRefusal` |
/// | 11 reconfigure | number (1), MTU (2) |
/// | 12 reconfigured | number (1), result (1): see `AirReconfiguration` |
enum AirControl: Hashable {
  /// The central sends its address and name.
  case hello(address: BluetoothAddress, name: String)
  /// The peripheral accepts the connection.
  case accept
  /// The peripheral refuses the connection.
  case reject(DisconnectReason)
  /// Asks for a level of security, with a key of at most this size.
  case raise(LinkSecurity)
  /// Answers `raise` and `confirm`: the security of the link from now on.
  case raised(LinkSecurity)
  /// The link is about to end.
  case disconnect(DisconnectReason)
  /// Sent once by the central: the timing of the direction towards it.
  case timing(AirTiming)

  /// Asks to pair for at least a level, or to use an earlier bond.
  case pair(PairingCapability, LinkSecurity, highest: SecurityLevel, key: UInt64)
  /// Answers `pair`: the method.
  case method(AirPairingMethod, UInt32)
  /// The initiator has done its part.
  case confirm(UInt32, key: UInt64)
  /// Opens a channel beside ATT.
  case open(UInt8, UInt16)
  /// Answers `open`; nil: the channel is open.
  case answer(UInt8, ChannelRefusal?)
  case failed(DisconnectReason)
  /// Asks for enhanced bearers.
  case bearers(UInt8, count: UInt8, mtu: UInt16)
  /// One of the bearers that were asked for.
  case bearer(UInt8, number: UInt8, mtu: UInt16)
  /// Follows the last of them; nil: all that were asked for are open.
  case opened(UInt8, ChannelRefusal?)
  /// Raises the MTU of the sender's end of a bearer.
  case reconfigure(UInt8, mtu: UInt16)
  /// Answers `reconfigure`.
  case reconfigured(UInt8, AirReconfiguration)

  /// The version of the protocol, which both ends must have.
  static let version: UInt8 = 1
  static let nameLimit = 64

  static func isName(_ text: String) -> Bool {
    (1...nameLimit).contains(text.utf8.count)
      && !text.unicodeScalars.contains { $0.properties.generalCategory == .control }
  }

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
    case .timing(let timing): [11] + timing.octets
    case .pair(let capability, let security, let highest, let key):
      [7, capability.rawValue, security.level.rawValue, security.keySize, highest.rawValue]
        + key.octets(8)
    case .method(let method, let value): [8, method.rawValue] + value.octets(4)
    case .confirm(let value, let key): [9] + value.octets(4) + key.octets(8)
    case .failed(let reason): [10, reason.rawValue]
    case .open(let identifier, let psm): [12, identifier] + psm.octets(2)
    case .answer(let identifier, let refusal): [13, identifier, refusal?.rawValue ?? 0]
    case .bearers(let identifier, let count, let mtu): [14, identifier, count] + mtu.octets(2)
    case .bearer(let identifier, let number, let mtu): [15, identifier, number] + mtu.octets(2)
    case .opened(let identifier, let refusal): [16, identifier, refusal?.rawValue ?? 0]
    case .reconfigure(let number, let mtu): [17, number] + mtu.octets(2)
    case .reconfigured(let number, let result): [18, number, result.rawValue]
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
    case (11, AirTiming.length):
      guard let timing = AirTiming(octets: rest) else { return nil }
      self = .timing(timing)
    case (7, 12):
      guard let capability = PairingCapability(rawValue: rest[0]),
        let security = LinkSecurity(rest[1], rest[2]), security.level > .low,
        let highest = SecurityLevel(rawValue: rest[3]), highest >= security.level
      else { return nil }
      self = .pair(capability, security, highest: highest, key: UInt64(octets: rest[4...]))
    case (8, 5):
      guard let method = AirPairingMethod(rawValue: rest[0]) else { return nil }
      let value = UInt32(octets: rest[1...])
      guard value <= 999_999 else { return nil }
      self = .method(method, value)
    case (9, 12):
      let value = UInt32(octets: rest[..<4])
      guard value <= 999_999 else { return nil }
      self = .confirm(value, key: UInt64(octets: rest[4...]))
    case (10, 1): self = .failed(DisconnectReason(rawValue: rest[0]))
    case (12, 3): self = .open(rest[0], UInt16(octets: rest[1...]))
    case (13, 2):
      let refusal = ChannelRefusal(rawValue: rest[1])
      guard refusal != nil || rest[1] == 0 else { return nil }
      self = .answer(rest[0], refusal)
    case (14, 4): self = .bearers(rest[0], count: rest[1], mtu: UInt16(octets: rest[2...]))
    case (15, 4): self = .bearer(rest[0], number: rest[1], mtu: UInt16(octets: rest[2...]))
    case (16, 2):
      let refusal = ChannelRefusal(rawValue: rest[1])
      guard refusal != nil || rest[1] == 0 else { return nil }
      self = .opened(rest[0], refusal)
    case (17, 3): self = .reconfigure(rest[0], mtu: UInt16(octets: rest[1...]))
    case (18, 2):
      guard let result = AirReconfiguration(rawValue: rest[1]) else { return nil }
      self = .reconfigured(rest[0], result)
    default: return nil
    }
  }

  /// Whether a descriptor must be sent with it.
  var bringsDescriptor: Bool {
    switch self {
    case .accept, .open, .bearer: true
    default: false
    }
  }
}

/// Results of L2CAP_CREDIT_BASED_RECONFIGURE_RSP. Vol 3, Part A, 4.28.
enum AirReconfiguration: UInt8, Hashable {
  case done = 0
  /// An MTU is never reduced.
  case reduced = 1
  /// There is no such bearer.
  case unknown = 3
  /// The MTU is less than the smallest one.
  case unacceptable = 4
}

extension LinkSecurity {
  /// A level and its key size: 0 for `low`, else 7 to 16 octets.
  fileprivate init?(_ level: UInt8, _ keySize: UInt8) {
    guard let level = SecurityLevel(rawValue: level) else { return nil }
    guard level == .low ? keySize == 0 : (7...16).contains(keySize) else { return nil }
    self.init(level: level, keySize: keySize)
  }
}
