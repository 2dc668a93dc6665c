/// How the values of a stream, or of many writes, are numbered.
package enum ValueNumbering: Sendable {
  /// 32 bits at the beginning, as ``Profile/Burst`` has them.
  case plain
  /// The same, with a ``CheckSum`` at the end.
  case checked
  /// Those of ``STThroughput``: 8 bits.
  case st
  /// Those of Silicon Labs' throughput test: 0 to 99 in the first octet, and then the letters a to z. Only received.
  case siliconLabs

  /// After so many numbers they begin again; nil: after 2^32.
  package var modulus: UInt32? {
    switch self {
    case .plain, .checked: nil
    case .st: 256
    case .siliconLabs: 100
    }
  }

  /// The number of a value that has arrived; nil if it has none, or is damaged.
  package func number(of value: RawSpan) -> UInt32? {
    switch self {
    case .plain, .checked:
      guard value.byteCount >= 4, self == .plain || CheckSum.isCorrect(value) else { return nil }
      return value.unsafeLoadUnaligned(fromByteOffset: 0, as: UInt32.self).littleEndian
    case .st: return STThroughput.number(of: value).map { UInt32($0) }
    case .siliconLabs:
      guard value.byteCount > 0 else { return nil }
      for index in 1..<value.byteCount {
        let letter = UInt8(ascii: "a") + UInt8((index - 1) % 26)
        guard value.unsafeLoad(fromByteOffset: index, as: UInt8.self) == letter else { return nil }
      }
      return UInt32(value.unsafeLoad(fromByteOffset: 0, as: UInt8.self))
    }
  }

  /// A value with this number and length in octets, at least 4.
  package func value(_ number: UInt32, size: Int) -> [UInt8] {
    self == .st
      ? STThroughput.value(UInt8(truncatingIfNeeded: number), size: size)
      : Self.counting(number, size: size)
  }

  /// The number in four octets, and octets that count from it.
  static func counting(_ number: UInt32, size: Int) -> [UInt8] {
    (0..<max(0, size)).map { offset in
      offset < 4
        ? UInt8(truncatingIfNeeded: number >> (8 * UInt32(offset)))
        : UInt8(truncatingIfNeeded: UInt64(number) + UInt64(offset))
    }
  }

  /// Sets the number of a value of at least 4 octets.
  package func set(_ number: UInt32, of value: inout [UInt8]) {
    guard self != .st else {
      return STThroughput.complete(&value, number: UInt8(truncatingIfNeeded: number))
    }
    for index in 0..<4 { value[index] = UInt8(truncatingIfNeeded: number >> (8 * UInt32(index))) }
    if self == .checked { CheckSum.complete(&value) }
  }
}
