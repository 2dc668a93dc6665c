/// The address of a device: 48 bits and whether they are public or random.
/// Vol 6, Part B, 1.3.
public struct DeviceAddress: Hashable, Sendable {
  /// `BDADDR_LE_PUBLIC` and `BDADDR_LE_RANDOM`, as the kernel numbers them.
  public enum Kind: UInt8, Hashable, Sendable {
    case `public` = 1
    case random = 2
  }

  /// The address as a number; the first written octet is the most significant of the 48 bits.
  public let value: UInt64
  /// Whether the address was assigned by the IEEE or made up by the device.
  public let kind: Kind

  /// Bits of `value` above the 48th are dropped.
  public init(_ value: UInt64, kind: Kind) {
    self.value = value & 0xFFFF_FFFF_FFFF
    self.kind = kind
  }

  /// The six octets, least significant first, as they travel and as `bdaddr_t` holds them.
  public var octets: [UInt8] { (0..<6).map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) } }

  /// Reads six octets, least significant first. nil for any other count.
  public init?(octets: some Collection<UInt8>, kind: Kind) {
    guard octets.count == 6 else { return nil }
    var value: UInt64 = 0
    for (position, octet) in octets.enumerated() { value |= UInt64(octet) << (position * 8) }
    self.init(value, kind: kind)
  }

  /// Whether this is a static random address: its two highest bits are set, and the rest is
  /// neither all ones nor all zeros. Vol 6, Part B, 1.3.2.1.
  public var isStaticRandom: Bool {
    let rest = value & 0x3FFF_FFFF_FFFF
    return kind == .random && value >> 46 == 0b11 && rest != 0 && rest != 0x3FFF_FFFF_FFFF
  }

  /// The static random address made of the low 46 bits of a number. The two numbers that the
  /// specification forbids become their neighbours.
  public static func staticRandom(_ seed: UInt64) -> DeviceAddress {
    var rest = seed & 0x3FFF_FFFF_FFFF
    if rest == 0 { rest = 1 }
    if rest == 0x3FFF_FFFF_FFFF { rest -= 1 }
    return DeviceAddress(0b11 << 46 | rest, kind: .random)
  }

  /// The static random address that belongs to a name: the same on every machine and in every
  /// run (FNV-1a over the name's UTF-8, folded to 46 bits).
  public static func staticRandom(name: String) -> DeviceAddress {
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    for octet in name.utf8 {
      hash ^= UInt64(octet)
      hash = hash &* 0x0000_0100_0000_01B3
    }
    return staticRandom(hash ^ hash >> 46)
  }
}

extension DeviceAddress {
  /// Reads `C0:11:22:33:44:55`, in either case, optionally followed by `/random` or `/public`.
  /// nil for anything else.
  ///
  /// - Parameter kind: what the address is when the text does not say.
  public init?(_ text: some StringProtocol, kind: Kind) {
    let bytes = Array(text.utf8.prefix(25))
    guard bytes.count >= 17 else { return nil }
    var value: UInt64 = 0
    for position in 0..<17 {
      if position % 3 == 2 {
        guard bytes[position] == 0x3A else { return nil }
      } else {
        guard let digit = hexDigit(bytes[position]) else { return nil }
        value = value << 4 | UInt64(digit)
      }
    }
    switch String(decoding: bytes[17...], as: UTF8.self) {
    case "": self.init(value, kind: kind)
    case "/random": self.init(value, kind: .random)
    case "/public": self.init(value, kind: .public)
    default: return nil
    }
  }
}

extension DeviceAddress: CustomStringConvertible {
  /// Uppercase octets with colons, without the kind.
  public var description: String {
    octets.reversed().map { hexText($0, uppercase: true) }.joined(separator: ":")
  }
}

extension DeviceAddress: Comparable {
  public static func < (a: DeviceAddress, b: DeviceAddress) -> Bool {
    (a.value, a.kind.rawValue) < (b.value, b.kind.rawValue)
  }
}
