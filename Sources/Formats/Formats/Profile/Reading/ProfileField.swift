import AttoATT
import AttoText

/// A value of the file. Each property or function reads it as one type and throws if it has another. The
/// configuration of the gateway is read by these too.
package struct ProfileField {
  var node: JSON
  package var path: ProfilePath

  package func mistake(_ expected: String) -> ProfileError {
    ProfileError(path, expected: expected, found: node.found)
  }

  package var bool: Bool {
    get throws(ProfileError) {
      guard case .bool(let value) = node.content else { throw mistake("true or false") }
      return value
    }
  }

  package func integer(_ range: ClosedRange<Int>, unit: String = "") throws(ProfileError) -> Int {
    guard case .number(let text) = node.content, let value = Int(text), range.contains(value)
    else {
      throw mistake("a whole number\(unit) from \(range.lowerBound) to \(range.upperBound)")
    }
    return value
  }

  /// Reads a number that may have a fraction.
  package func decimal(_ range: ClosedRange<Double>) throws(ProfileError) -> Double {
    guard case .number(let text) = node.content, let value = Double(text), range.contains(value)
    else { throw mistake("a number from \(range.lowerBound) to \(range.upperBound)") }
    return value
  }

  package func milliseconds(_ range: ClosedRange<Int>) throws(ProfileError) -> Duration {
    .milliseconds(try integer(range, unit: " of milliseconds"))
  }

  package func string(_ expected: @autoclosure () -> String) throws(ProfileError) -> String {
    guard case .string(let text) = node.content else { throw mistake(expected()) }
    return text
  }

  /// Reads text of at most `limit` octets in UTF-8.
  package func text(limit: Int) throws(ProfileError) -> String {
    let text = try string("a text")
    guard text.utf8.count <= limit else {
      throw ProfileError(
        path, expected: "at most \(limit) octets", found: "\(text.utf8.count) octets")
    }
    return text
  }

  /// Reads one of some words.
  package func word(_ words: [String]) throws(ProfileError) -> String {
    // The text is made only for an error: there are thousands of words in a large profile.
    func expected() -> String { "one of " + words.joined(separator: ", ") }
    let text = try string(expected())
    guard words.contains(text) else {
      throw ProfileError(
        path, expected: expected(), found: node.found + NearestWord.hint(for: text, among: words))
    }
    return text
  }

  package var list: [ProfileField] {
    get throws(ProfileError) {
      guard case .array(let nodes) = node.content else { throw mistake("a list") }
      return nodes.enumerated().map { ProfileField(node: $1, path: path / $0) }
    }
  }

  /// Reads a list of some words without repetition.
  func words(_ words: [String]) throws(ProfileError) -> [String] {
    var result: [String] = []
    for field in try list {
      let word = try field.word(words)
      guard !result.contains(word) else {
        throw ProfileError(
          field.path, expected: "each word once", found: "\"\(word)\" again")
      }
      result.append(word)
    }
    return result
  }

  // MARK: - Bluetooth

  package var uuid: BluetoothUUID {
    get throws(ProfileError) {
      let expected = "a UUID such as \"180D\" or \"6e400001-b5a3-f393-e0a9-e50e24dcca9e\""
      guard let uuid = BluetoothUUID(try string(expected)) else { throw mistake(expected) }
      return uuid
    }
  }

  /// A UUID other than those of declarations, which would start another service or characteristic.
  var attributeType: BluetoothUUID {
    get throws(ProfileError) {
      let uuid = try uuid
      guard let short = uuid.short, 0x2800...0x2803 ~= short else { return uuid }
      throw ProfileError(
        path, expected: "a UUID other than those of declarations, 2800 to 2803",
        found: "\(uuid)")
    }
  }

  var handle: AttributeHandle {
    get throws(ProfileError) {
      AttributeHandle(try number("a handle from \"0x0001\" to \"0xFFFF\"", in: 1...0xFFFF))
    }
  }

  var errorCode: ErrorCode {
    get throws(ProfileError) {
      ErrorCode(UInt8(try number("an error code from \"0x01\" to \"0xFF\"", in: 1...0xFF)))
    }
  }

  /// Reads `0x` and one to four hexadecimal digits.
  package func number(
    _ expected: String, in range: ClosedRange<UInt16> = 0...0xFFFF
  ) throws(ProfileError) -> UInt16 {
    let text = try string(expected)
    guard text.hasPrefix("0x") || text.hasPrefix("0X"), 3...6 ~= text.utf8.count,
      let number = Hex.number(text.utf8.dropFirst(2)), range ~= UInt16(number)
    else { throw mistake(expected) }
    return UInt16(number)
  }

  /// Reads a reference to a service or characteristic: `0x…` is a handle, anything else a UUID.
  func target(_ kind: String) throws(ProfileError) -> Profile.Target {
    let expected = "the handle of a \(kind) (\"0x0001\") or its UUID (\"180A\")"
    let text = try string(expected)
    if text.hasPrefix("0x") || text.hasPrefix("0X"), text.utf8.count <= 6 {
      return .handle(try handle)
    }
    guard let uuid = BluetoothUUID(text) else { throw mistake(expected) }
    return .uuid(uuid)
  }
}
