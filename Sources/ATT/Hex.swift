/// Two hexadecimal digits, uppercase, as handles and opcodes are written.
@usableFromInline func hex(_ byte: UInt8) -> String {
  hexDigits(UInt64(byte), count: 2)
}

/// Four hexadecimal digits, uppercase.
@usableFromInline func hex(_ value: UInt16) -> String {
  hexDigits(UInt64(value), count: 4)
}

/// The last `count` hexadecimal digits of a number. Foundation's formatting is out of reach
/// on this floor.
func hexDigits(_ value: UInt64, count: Int, uppercase: Bool = true) -> String {
  let digits = String(value, radix: 16, uppercase: uppercase)
  guard digits.utf8.count < count else { return digits }
  return String(repeating: "0", count: count - digits.utf8.count) + digits
}
