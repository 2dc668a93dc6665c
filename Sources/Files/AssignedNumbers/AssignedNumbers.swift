import ATT

/// The names that the Bluetooth SIG gave to 16-bit UUIDs.
///
/// Each table is one text of sorted lines, `180D Heart Rate`, that stays where the linker put
/// it: nothing is built at start-up, and a look-up is a binary search over the bytes.
/// `generate.py` writes the tables and tells where they come from.
public enum AssignedNumbers {
  /// What an attribute's UUID stands for.
  public enum Kind: Sendable, CaseIterable {
    /// A service.
    case service
    /// A characteristic.
    case characteristic
    /// A descriptor, or a declaration: 2800 to 2803.
    case descriptor
  }

  /// The name of a UUID as this kind, or nil if it has none: all but some 550 have none.
  public static func name(of uuid: BluetoothUUID, as kind: Kind) -> String? {
    guard let number = uuid.short else { return nil }
    return switch kind {
    case .service: find(number, in: services)
    case .characteristic: find(number, in: characteristics)
    case .descriptor: find(number, in: descriptors)
    }
  }

  /// The name on the line that begins with these four digits.
  static func find(_ number: UInt16, in table: String) -> String? {
    let text = table.utf8.span
    var low = 0
    var high = text.count
    // The bounds are always the beginning of a line or the end of the text.
    while low < high {
      var start = low + (high - low) / 2
      while start > low, text[start - 1] != 0x0A { start -= 1 }
      var end = start
      while end < high, text[end] != 0x0A { end += 1 }
      let found = digits(text.extracting(start..<min(start + 4, end)))
      if found == number { return name(text.extracting(min(start + 5, end)..<end)) }
      if found < number { low = min(end + 1, high) } else { high = start }
    }
    return nil
  }

  private static func digits(_ text: Span<UInt8>) -> UInt16 {
    var value: UInt16 = 0
    for index in text.indices {
      value = value << 4 | UInt16(EncodedBytes.hexDigit(text[index]) ?? 0)
    }
    return value
  }

  private static func name(_ text: Span<UInt8>) -> String {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.count)
    for index in text.indices { bytes.append(text[index]) }
    return String(decoding: bytes, as: UTF8.self)
  }
}
