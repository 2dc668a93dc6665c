import AttoATT

/// The address of a Bluetooth LE device. Vol 6, Part B, 1.3.
@frozen public struct BluetoothAddress: Hashable, Sendable, CustomStringConvertible {
  /// The kinds of address on LE.
  @frozen public enum Kind: UInt8, Hashable, Sendable {
    /// Assigned by the IEEE (BDADDR_LE_PUBLIC).
    case `public` = 1
    /// Chosen by the device: static or private (BDADDR_LE_RANDOM).
    case random = 2
  }

  /// The 48 bits; the first written octet is the most significant.
  public let value: UInt64
  /// Whether the address is public or random.
  public let kind: Kind

  /// Creates an address from its 48 bits; higher bits are dropped.
  @inlinable public init(_ value: UInt64, kind: Kind = .public) {
    self.value = value & 0xFFFF_FFFF_FFFF
    self.kind = kind
  }

  /// Creates an address from octets in the order of the wire and of the kernel's `bdaddr_t`, least
  /// significant first; nil unless there are 6.
  public init?(littleEndian octets: [UInt8], kind: Kind) {
    guard octets.count == 6 else { return nil }
    self.init(octets.reversed().reduce(0) { $0 << 8 | UInt64($1) }, kind: kind)
  }

  /// Parses `AA:BB:CC:DD:EE:FF`, optionally followed by `/random` or `/public` (the default);
  /// nil for any other text.
  public init?(_ text: some StringProtocol) {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    let kind: Kind
    switch parts.count > 1 ? parts[1] : "public" {
    case "public": kind = .public
    case "random": kind = .random
    default: return nil
    }
    guard parts.count <= 2 else { return nil }
    let octets = parts[0].split(separator: ":", omittingEmptySubsequences: false)
    guard octets.count == 6 else { return nil }
    var value: UInt64 = 0
    for octet in octets {
      guard octet.utf8.count == 2, let byte = Hex.number(octet.utf8) else { return nil }
      value = value << 8 | byte
    }
    self.init(value, kind: kind)
  }

  /// The octets in the order of the wire, least significant first.
  public var littleEndian: [UInt8] {
    (0..<6).map { UInt8(truncatingIfNeeded: value >> (8 * UInt64($0))) }
  }

  /// The address without its kind: `C0:11:22:33:44:5F`.
  public var digits: String {
    littleEndian.reversed().map { Hex.digits($0) }.joined(separator: ":")
  }

  /// `AA:BB:CC:DD:EE:FF`, followed by `/random` for a random address.
  public var description: String { digits + (kind == .random ? "/random" : "") }
}

/// The addresses of the two ends of a link between radios.
public struct LinkAddresses: Hashable, Sendable {
  /// The address of this end's adapter.
  public let own: BluetoothAddress
  /// The address of the other end.
  public let peer: BluetoothAddress

  /// Creates a pair of addresses.
  public init(own: BluetoothAddress, peer: BluetoothAddress) {
    self.own = own
    self.peer = peer
  }
}

/// A link between radios. Bonds refer to its addresses.
public protocol AddressedLink: Link {
  /// The identity addresses where they are known; nil if the ends have none, and after the end of
  /// the link. May cost a system call.
  var addresses: LinkAddresses? { get }
}
