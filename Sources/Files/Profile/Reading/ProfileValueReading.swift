extension Profile.Value {
  /// Takes the keys that say what an attribute holds.
  init(_ object: ProfileObject) throws(ProfileError) {
    bytes = try object["value"]?.bytes ?? []
    maxLength = try object["maxLength"]?.integer(0...Self.lengthLimit)
    isFixedLength = try object["fixedLength"]?.bool ?? false
    if let field = object["permissions"] {
      var permissions: Profile.Permissions = []
      for word in try field.words(Profile.Permissions.names.map(\.name)) {
        for (name, permission) in Profile.Permissions.names where name == word {
          permissions.insert(permission)
        }
      }
      self.permissions = permissions
    }
    keySize = try object["keySize"].map { field throws(ProfileError) in
      UInt8(try field.integer(7...16))
    }
  }
}

extension ProfileField {
  /// A value in one of its four forms, of at most 512 octets.
  var bytes: [UInt8] {
    get throws(ProfileError) { try bytes(limit: Profile.Value.lengthLimit) }
  }

  /// A value in one of its four forms.
  func bytes(limit: Int) throws(ProfileError) -> [UInt8] {
    let bytes: [UInt8]
    switch node.content {
    case .object: bytes = try repeatedBytes()
    case .string(let text): bytes = try encodedBytes(text)
    default: throw mistake(Self.forms)
    }
    guard bytes.count <= limit else {
      throw ProfileError(
        path, expected: "at most \(limit) octets", found: "\(bytes.count) octets")
    }
    return bytes
  }

  private static let forms =
    "\"hex:…\", \"text:…\", \"base64:…\" or {\"repeat\": \"31\", \"count\": 512}"

  private func encodedBytes(_ text: String) throws(ProfileError) -> [UInt8] {
    guard let colon = text.utf8.firstIndex(of: 0x3A) else { throw mistake(Self.forms) }
    let rest = text.utf8[text.utf8.index(after: colon)...]
    switch text[..<colon] {
    case "text": return Array(rest)
    case "hex":
      guard let bytes = EncodedBytes.hexadecimal(rest) else {
        throw mistake("pairs of hexadecimal digits after \"hex:\"")
      }
      return bytes
    case "base64":
      guard let bytes = EncodedBytes.base64(rest) else {
        throw mistake("padded base64 after \"base64:\"")
      }
      return bytes
    default:
      throw ProfileError(
        path, expected: Self.forms,
        found: node.found
          + NearestWord.hint(for: text[..<colon] + ":", among: ["hex:", "text:", "base64:"]))
    }
  }

  private func repeatedBytes() throws(ProfileError) -> [UInt8] {
    let object = try ProfileObject(self, keys: ["repeat", "count"])
    let field = try object.required("repeat", "the octets to repeat in hexadecimal")
    let count = try object.required("count", "how often")
      .integer(0...Profile.Value.lengthLimit)
    let expected = "1 to 512 octets in hexadecimal"
    let text = try field.string(expected)
    guard let unit = EncodedBytes.hexadecimal(text.utf8),
      1...Profile.Value.lengthLimit ~= unit.count
    else { throw field.mistake(expected) }
    return Array(repeatElement(unit, count: count).joined())
  }
}
