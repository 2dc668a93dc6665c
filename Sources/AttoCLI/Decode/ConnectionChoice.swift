import Files

/// `--connection`: which connections of a capture are wanted, written as they are shown.
struct ConnectionChoice {
  private var adapter: UInt16?
  private let handle: UInt32
  private var incarnation: Int?

  /// Reads `0x0040`, `64`, `hci1/0x0040`, `0x0040.2` or an access address.
  init(argument text: String) throws {
    let fault = UsageError(
      "--connection wants a handle as decode shows it, such as 0x0040, 0x0040.2 or hci1/0x0040,"
        + " not \"\(text)\"")
    var rest = text[...]
    if let slash = rest.firstIndex(of: "/") {
      guard rest.hasPrefix("hci"), let number = UInt16(rest[..<slash].dropFirst(3)) else {
        throw fault
      }
      adapter = number
      rest = rest[slash...].dropFirst()
    }
    if let dot = rest.firstIndex(of: ".") {
      guard let number = Int(rest[dot...].dropFirst()), number > 0 else { throw fault }
      incarnation = number
      rest = rest[..<dot]
    }
    let isHex = rest.lowercased().hasPrefix("0x")
    let digits = isHex ? rest.dropFirst(2) : rest
    guard digits.first != "+", let number = UInt32(digits, radix: isHex ? 16 : 10) else {
      throw fault
    }
    handle = number
  }

  func includes(_ connection: CapturedConnection) -> Bool {
    connection.handle == handle && (adapter ?? connection.adapter) == connection.adapter
      && (incarnation ?? connection.incarnation) == connection.incarnation
  }
}
