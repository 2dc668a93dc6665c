import AttoATT
import AttoGATT
import AttoText

extension ProfileObject {
  /// Reads the keys of an initial value and its length limits.
  func value() throws(ProfileError) -> (octets: [UInt8], limits: ValueLimits) {
    let octets = try self["value"]?.octets() ?? []
    let maxLength = try self["maxLength"]?.integer(0...ValueLimits.longest)
    let isFixedLength = try self["fixedLength"]?.bool ?? false
    let limit = maxLength ?? (isFixedLength ? octets.count : ValueLimits.longest)
    guard octets.count <= limit else {
      throw ProfileError(
        path / "value", expected: "at most \(limit) octets (maxLength)",
        found: "\(octets.count) octets")
    }
    guard !isFixedLength || octets.count == limit else {
      throw ProfileError(
        path / "fixedLength", expected: "a value of \(limit) octets (maxLength)",
        found: "\(octets.count) octets")
    }
    return (octets, ValueLimits(maximumLength: limit, isFixedLength: isFixedLength))
  }

  /// Reads the keys of permissions; nil if the file states none.
  func permissions() throws(ProfileError) -> AttributePermissions? {
    var permissions = try self["permissions"].map { field throws(ProfileError) in
      AttributePermissions(words: try field.words(AttributePermissions.words))
    }
    if let field = self["keySize"] {
      let keySize = UInt8(try field.integer(7...16))
      guard permissions?.require(keySize: keySize) == true else {
        throw ProfileError(
          field.path, expected: "a permission that requires encryption", found: "none")
      }
    }
    return permissions
  }
}

extension ProfileField {
  /// Reads a value in one of the four notations.
  package func octets(limit: Int = ValueLimits.longest) throws(ProfileError) -> [UInt8] {
    let octets: [UInt8]
    switch node.content {
    case .object: octets = try repeatedOctets()
    case .string(let text): octets = try encodedOctets(text)
    default: throw mistake(Self.notations)
    }
    guard octets.count <= limit else {
      throw ProfileError(
        path, expected: "at most \(limit) octets", found: "\(octets.count) octets")
    }
    return octets
  }

  private static let notations =
    "\"hex:…\", \"text:…\", \"base64:…\" or {\"repeat\": \"31\", \"count\": 512}"

  private func encodedOctets(_ text: String) throws(ProfileError) -> [UInt8] {
    guard let colon = text.utf8.firstIndex(of: 0x3A) else { throw mistake(Self.notations) }
    let rest = text.utf8[text.utf8.index(after: colon)...]
    switch text[..<colon] {
    case "text": return Array(rest)
    case "hex":
      guard let bytes = Hex.octets(rest, separators: " ") else {
        throw mistake("pairs of hexadecimal digits after \"hex:\"")
      }
      return bytes
    case "base64":
      guard let bytes = Base64.decode(rest) else {
        throw mistake("padded base64 after \"base64:\"")
      }
      return bytes
    default:
      throw ProfileError(
        path, expected: Self.notations,
        found: node.found
          + NearestWord.hint(for: text[..<colon] + ":", among: ["hex:", "text:", "base64:"]))
    }
  }

  private func repeatedOctets() throws(ProfileError) -> [UInt8] {
    let object = try ProfileObject(self, keys: ["repeat", "count"])
    let field = try object.required("repeat", "the octets to repeat in hexadecimal")
    let count = try object.required("count", "the number of repetitions")
      .integer(0...ValueLimits.longest)
    let expected = "1 to 512 octets in hexadecimal"
    let text = try field.string(expected)
    guard let unit = Hex.octets(text.utf8, separators: " "),
      1...ValueLimits.longest ~= unit.count
    else { throw field.mistake(expected) }
    return Array(repeatElement(unit, count: count).joined())
  }
}
