import AttoATT

/// Parses JSON strictly by RFC 8259: no comments, no trailing commas, nothing after the value. The
/// names in an object must differ.
///
/// Limits: `FileBytes.limit` bytes, 32 levels.
package struct JSONParser {
  static let depthLimit = 32

  private let bytes: [UInt8]
  private var index = 0
  private var depth = 0

  package static func parse(_ bytes: [UInt8]) throws(TextMistake) -> JSON {
    try TextMistake.check(bytes)
    var parser = JSONParser(bytes: bytes)
    if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { parser.index = 3 }
    let node = try parser.value()
    parser.skipSpace()
    if parser.index < bytes.count { throw parser.unexpected("the end of the file") }
    return node
  }

  private init(bytes: [UInt8]) { self.bytes = bytes }

  // MARK: - Tokens

  private var next: UInt8? { index < bytes.count ? bytes[index] : nil }

  private mutating func skipSpace() {
    while let byte = next, byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D {
      index += 1
    }
  }

  /// Consumes the byte if it comes next.
  private mutating func skip(_ byte: UInt8) -> Bool {
    guard next == byte else { return false }
    index += 1
    return true
  }

  private func unexpected(_ expected: String) -> TextMistake {
    var found = "the end of the file"
    if let byte = next {
      // The text is valid UTF-8, so a scalar starts here or up to three bytes before.
      var start = index
      while start > 0, bytes[start] & 0xC0 == 0x80 { start -= 1 }
      let scalar = String(decoding: bytes[start...].prefix(4), as: UTF8.self).unicodeScalars.first
      found = scalar.map { quoted(String($0)) } ?? "0x" + Hex.text([byte])
    }
    return TextMistake(offset: index, expected: expected, found: found)
  }

  // MARK: - Values

  private mutating func value() throws(TextMistake) -> JSON {
    skipSpace()
    let offset = index
    let content: JSON.Content
    switch next {
    case 0x7B: content = try object()
    case 0x5B: content = try array()
    case 0x22: content = .string(try string())
    case 0x2D?, (0x30...0x39)?: content = .number(try number())
    case 0x74 where skipWord("true"): content = .bool(true)
    case 0x66 where skipWord("false"): content = .bool(false)
    case 0x6E where skipWord("null"): content = .null
    default: throw unexpected("a JSON value")
    }
    return JSON(content, offset: offset)
  }

  private mutating func skipWord(_ word: String) -> Bool {
    guard bytes[index...].starts(with: word.utf8) else { return false }
    index += word.utf8.count
    return true
  }

  private mutating func enter() throws(TextMistake) {
    guard depth < Self.depthLimit else {
      throw TextMistake(
        offset: index, expected: "at most \(Self.depthLimit) levels of lists and objects",
        found: "a deeper one")
    }
    depth += 1
    index += 1
  }

  private mutating func array() throws(TextMistake) -> JSON.Content {
    try enter()
    defer { depth -= 1 }
    var nodes: [JSON] = []
    skipSpace()
    if skip(0x5D) { return .array(nodes) }
    while true {
      nodes.append(try value())
      skipSpace()
      if skip(0x5D) { return .array(nodes) }
      guard skip(0x2C) else { throw unexpected("\",\" or \"]\"") }
    }
  }

  private mutating func object() throws(TextMistake) -> JSON.Content {
    try enter()
    defer { depth -= 1 }
    var members: [JSON.Member] = []
    var names: Set<String> = []
    skipSpace()
    if skip(0x7D) { return .object(members) }
    while true {
      skipSpace()
      let offset = index
      guard next == 0x22 else { throw unexpected("a key in quotes") }
      let name = try string()
      guard names.insert(name).inserted else {
        throw TextMistake(
          offset: offset, expected: "each key once", found: quoted(name) + " again")
      }
      skipSpace()
      guard skip(0x3A) else { throw unexpected("\":\"") }
      members.append(JSON.Member(name: name, offset: offset, value: try value()))
      skipSpace()
      if skip(0x7D) { return .object(members) }
      guard skip(0x2C) else { throw unexpected("\",\" or \"}\"") }
    }
  }

  // MARK: - Scalars

  private mutating func number() throws(TextMistake) -> String {
    let start = index
    _ = skip(0x2D)
    if !skip(0x30) { try digits() }
    if skip(0x2E) { try digits() }
    if skip(0x65) || skip(0x45) {
      if !skip(0x2B) { _ = skip(0x2D) }
      try digits()
    }
    return String(decoding: bytes[start..<index], as: UTF8.self)
  }

  private mutating func digits() throws(TextMistake) {
    let start = index
    while let byte = next, 0x30...0x39 ~= byte { index += 1 }
    if index == start { throw unexpected("a digit") }
  }

  private mutating func string() throws(TextMistake) -> String {
    index += 1
    var text: [UInt8] = []
    while let byte = next {
      switch byte {
      case 0x22:
        index += 1
        return String(decoding: text, as: UTF8.self)
      case 0x5C:
        index += 1
        let scalar = try escape()
        text += Array(String(scalar).utf8)
      case 0x00..<0x20: throw unexpected("an escaped character")
      default:
        text.append(byte)
        index += 1
      }
    }
    throw unexpected("a closing quote")
  }

  private mutating func escape() throws(TextMistake) -> Unicode.Scalar {
    let simple: Unicode.Scalar
    switch next {
    case 0x22: simple = "\""
    case 0x5C: simple = "\\"
    case 0x2F: simple = "/"
    case 0x62: simple = "\u{8}"
    case 0x66: simple = "\u{C}"
    case 0x6E: simple = "\n"
    case 0x72: simple = "\r"
    case 0x74: simple = "\t"
    case 0x75: return try unicodeEscape()
    default: throw unexpected("one of \"\\/bfnrtu after a backslash")
    }
    index += 1
    return simple
  }

  /// Reads the `u` and four hex digits of an escape, or two of them for a surrogate pair.
  private mutating func unicodeEscape() throws(TextMistake) -> Unicode.Scalar {
    let first = try codeUnit()
    if let scalar = Unicode.Scalar(first) { return scalar }
    let expected = "the second half of a surrogate pair"
    guard first < 0xDC00, skip(0x5C), next == 0x75 else { throw unexpected(expected) }
    let start = index
    let second = try codeUnit()
    guard 0xDC00...0xDFFF ~= second,
      let scalar = Unicode.Scalar(
        0x10000 + (UInt32(first) - 0xD800) << 10 + (UInt32(second) - 0xDC00))
    else {
      index = start
      throw unexpected(expected)
    }
    return scalar
  }

  private mutating func codeUnit() throws(TextMistake) -> UInt16 {
    index += 1
    var unit: UInt16 = 0
    for _ in 0..<4 {
      guard let byte = next, let digit = Hex.digit(byte) else {
        throw unexpected("four hexadecimal digits")
      }
      unit = unit << 4 | UInt16(digit)
      index += 1
    }
    return unit
  }
}
