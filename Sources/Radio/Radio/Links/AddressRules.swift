public import AttoLinks

extension BluetoothAddress {
  /// Whether this is a static random address: the two highest bits are set, and the others are
  /// neither all ones nor all zeros. Vol 6, Part B, 1.3.2.1.
  public var isStaticRandom: Bool {
    let rest = value & 0x3FFF_FFFF_FFFF
    return kind == .random && value >> 46 == 0b11 && rest != 0 && rest != 0x3FFF_FFFF_FFFF
  }

  /// Whether this is a public address or has the form of a static one, which devices keep. Others are private, and the
  /// kernel may know a link by the peer's identity in place of them. Vol 6, Part B, 1.3.
  package var isStable: Bool { kind == .public || value >> 46 == 0b11 }

  /// The static random address made of the low 46 bits of a number. The two numbers that the
  /// specification forbids are replaced by their neighbours.
  public static func staticRandom(_ seed: UInt64) -> BluetoothAddress {
    var rest = seed & 0x3FFF_FFFF_FFFF
    if rest == 0 { rest = 1 }
    if rest == 0x3FFF_FFFF_FFFF { rest -= 1 }
    return BluetoothAddress(0b11 << 46 | rest, kind: .random)
  }

  /// The static random address that belongs to a name, the same on every machine and in every run:
  /// FNV-1a of the UTF-8 octets, folded to 46 bits.
  public static func staticRandom(name: String) -> BluetoothAddress {
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    for octet in name.utf8 {
      hash ^= UInt64(octet)
      hash = hash &* 0x0000_0100_0000_01B3
    }
    return staticRandom(hash ^ hash >> 46)
  }
}
