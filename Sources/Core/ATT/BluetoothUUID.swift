/// The type of an attribute: 16, 32 or 128 bits. Vol 3, Part B, 2.5.1 and Part F, 3.2.1.
///
/// All forms are stored as 128 bits, so that `180D` equals `0000180d-0000-1000-8000-00805f9b34fb`,
/// as the specification requires.
@frozen public struct BluetoothUUID: Hashable, Sendable {
  /// The first eight octets in the order of the text form.
  public let high: UInt64
  /// The last eight octets in the order of the text form.
  public let low: UInt64

  /// The last eight octets of the Base UUID.
  @usableFromInline static let baseLow: UInt64 = 0x8000_0080_5F9B_34FB
  /// The first eight octets of the Base UUID: 0000xxxx-0000-1000.
  @usableFromInline static let baseHigh: UInt64 = 0x0000_0000_0000_1000

  /// Creates a UUID from the first and last eight octets of its text form.
  @inlinable public init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  /// Creates a 16-bit UUID, as assigned by the SIG.
  @inlinable public init(_ short: UInt16) { self.init(UInt32(short)) }

  /// Creates a 32-bit UUID. ATT has no such form; it is sent as 128 bits.
  @inlinable public init(_ short: UInt32) {
    high = UInt64(short) << 32 | Self.baseHigh
    low = Self.baseLow
  }

  /// The 16-bit form; nil if there is none. PDUs carry this form where it exists.
  @inlinable public var short: UInt16? {
    guard isOfBase, high >> 48 == 0 else { return nil }
    return UInt16(truncatingIfNeeded: high >> 32)
  }

  /// The 32-bit form; nil if there is none. Every 16-bit UUID has one.
  @inlinable public var short32: UInt32? {
    isOfBase ? UInt32(truncatingIfNeeded: high >> 32) : nil
  }

  @inlinable var isOfBase: Bool {
    low == Self.baseLow && high & 0xFFFF_FFFF == Self.baseHigh
  }

  /// The length in a PDU: 2 or 16 octets.
  @inlinable public var encodedLength: Int { short == nil ? 16 : 2 }
}

extension BluetoothUUID: ExpressibleByIntegerLiteral {
  @inlinable public init(integerLiteral value: UInt16) { self.init(value) }
}

extension BluetoothUUID {
  /// Parses `180D`, `0x180D`, `0000180D` or the full form with or without dashes, in either case.
  /// nil for anything else.
  public init?(_ text: some StringProtocol) {
    var digits: (high: UInt64, low: UInt64) = (0, 0)
    var count = 0
    // The number of digits before the last dash. Each of the four places takes one dash.
    var dashed = 0
    var skipped = 0
    let bytes = text.utf8
    var index = bytes.startIndex
    if bytes.starts(with: [0x30, 0x78]) || bytes.starts(with: [0x30, 0x58]) {
      index = bytes.index(index, offsetBy: 2)
      skipped = 2
    }
    while index != bytes.endIndex {
      let byte = bytes[index]
      defer { index = bytes.index(after: index) }
      if byte == UInt8(ascii: "-"), skipped == 0, count > dashed, [8, 12, 16, 20].contains(count) {
        dashed = count
        continue
      }
      guard count < 32, let digit = Hex.digit(byte) else { return nil }
      digits.high = digits.high << 4 | digits.low >> 60
      digits.low = digits.low << 4 | UInt64(digit)
      count += 1
    }
    let length = bytes.count - skipped
    switch (count, length) {
    case (4, 4), (8, 8): self.init(UInt32(truncatingIfNeeded: digits.low))
    case (32, 32) where skipped == 0, (32, 36): self.init(high: digits.high, low: digits.low)
    default: return nil
    }
  }

  /// The full form, lowercase, with dashes.
  public var fullDescription: String {
    let digits = Hex.digits(high, uppercase: false) + Hex.digits(low, uppercase: false)
    var text = ""
    for (offset, digit) in digits.utf8.enumerated() {
      if [8, 12, 16, 20].contains(offset) { text += "-" }
      text.unicodeScalars.append(Unicode.Scalar(digit))
    }
    return text
  }
}

extension BluetoothUUID: CustomStringConvertible {
  /// `180D` if a 16-bit form exists, otherwise the full form in lowercase.
  public var description: String {
    if let short { return Hex.digits(short) }
    return fullDescription
  }
}

extension BluetoothUUID: Comparable {
  @inlinable public static func < (a: BluetoothUUID, b: BluetoothUUID) -> Bool {
    (a.high, a.low) < (b.high, b.low)
  }
}
