/// The value of one hexadecimal digit, in either case; nil for any other byte.
func hexDigit(_ byte: UInt8) -> UInt8? {
  switch byte {
  case 0x30...0x39: byte &- 0x30
  case 0x41...0x46: byte &- 0x37
  case 0x61...0x66: byte &- 0x57
  default: nil
  }
}

/// Two hexadecimal digits.
func hexText(_ byte: UInt8, uppercase: Bool = false) -> String {
  (byte < 0x10 ? "0" : "") + String(byte, radix: 16, uppercase: uppercase)
}

/// Two lowercase hexadecimal digits for each byte, nothing between them.
func hexText(_ bytes: some Sequence<UInt8>) -> String {
  bytes.reduce(into: "") { $0 += hexText($1) }
}

/// The bytes of an even number of hexadecimal digits; nil for anything else.
func bytes(fromHex digits: some Collection<UInt8>) -> [UInt8]? {
  guard digits.count.isMultiple(of: 2) else { return nil }
  var bytes: [UInt8] = []
  bytes.reserveCapacity(digits.count / 2)
  var high: UInt8?
  for digit in digits {
    guard let nibble = hexDigit(digit) else { return nil }
    if let first = high {
      bytes.append(first << 4 | nibble)
      high = nil
    } else {
      high = nibble
    }
  }
  return bytes
}
