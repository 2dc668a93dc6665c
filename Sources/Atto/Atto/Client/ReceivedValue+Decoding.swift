extension ReceivedValue {
  /// The little-endian integer at an offset: `value.integer(at: 1, as: UInt16.self)`. nil if the value
  /// is too short.
  ///
  /// - Parameters:
  ///   - offset: the number of octets before the integer.
  ///   - type: the integer's type, of any width that is a multiple of 8 bits.
  @inlinable public func integer<Integer: FixedWidthInteger>(
    at offset: Int = 0, as type: Integer.Type = Integer.self
  ) -> Integer? {
    Integer(littleEndianOctets: value, at: offset)
  }

  /// The value as UTF-8 text; nil if it is not valid UTF-8.
  public var text: String? { String(validating: value, as: UTF8.self) }
}

extension FixedWidthInteger {
  /// Decodes the little-endian integer at an offset, in values that were read or written. nil if the
  /// octets end before it does.
  ///
  /// - Parameters:
  ///   - octets: the value.
  ///   - offset: the number of octets before the integer.
  @inlinable public init?(littleEndianOctets octets: [UInt8], at offset: Int = 0) {
    let width = Self.bitWidth / 8
    guard offset >= 0, offset <= octets.count - width else { return nil }
    var integer: Self = 0
    for index in 0..<width {
      integer |= Self(truncatingIfNeeded: octets[offset + index]) << (8 * index)
    }
    self = integer
  }
}
