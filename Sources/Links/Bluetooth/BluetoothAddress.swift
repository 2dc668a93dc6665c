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
  /// Whether it was assigned or made up.
  public let kind: Kind

  /// Bits above the 48th are dropped.
  @inlinable public init(_ value: UInt64, kind: Kind = .public) {
    self.value = value & 0xFFFF_FFFF_FFFF
    self.kind = kind
  }

  /// From the order of the wire and of the kernel's `bdaddr_t`, least significant octet first;
  /// nil unless there are 6.
  public init?(littleEndian octets: [UInt8], kind: Kind) {
    guard octets.count == 6 else { return nil }
    self.init(octets.reversed().reduce(0) { $0 << 8 | UInt64($1) }, kind: kind)
  }

  /// From `AA:BB:CC:DD:EE:FF`, with `/random` or `/public` (the default) behind it; nil for
  /// anything else.
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
      guard octet.utf8.count == 2, octet.utf8.allSatisfy(BluetoothAddress.isHexDigit),
        let byte = UInt8(octet, radix: 16)
      else { return nil }
      value = value << 8 | UInt64(byte)
    }
    self.init(value, kind: kind)
  }

  private static func isHexDigit(_ digit: UInt8) -> Bool {
    switch digit {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "F"),
      UInt8(ascii: "a")...UInt8(ascii: "f"):
      true
    default: false
    }
  }

  /// The order of the wire.
  public var littleEndian: [UInt8] {
    (0..<6).map { UInt8(truncatingIfNeeded: value >> (8 * UInt64($0))) }
  }

  /// As it is written, with `/random` where that is so.
  public var description: String {
    let digits = Array("0123456789ABCDEF")
    let octets = littleEndian.reversed().map { "\(digits[Int($0 >> 4)])\(digits[Int($0 & 15)])" }
    return octets.joined(separator: ":") + (kind == .random ? "/random" : "")
  }
}
