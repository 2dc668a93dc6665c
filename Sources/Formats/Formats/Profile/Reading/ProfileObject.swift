import AttoText

/// An object of the file with known keys only.
package struct ProfileObject {
  /// A key that every object may have, with a text for people.
  static let comment = "comment"

  private let members: [JSON.Member]
  package let path: ProfilePath

  /// Reads the field as an object with no other keys than these.
  package init(_ field: ProfileField, keys: [String]) throws(ProfileError) {
    guard case .object(let members) = field.node.content else {
      throw field.mistake("an object")
    }
    self.members = members
    path = field.path
    for member in members where !keys.contains(member.name) {
      if member.name == Self.comment {
        _ = try ProfileField(node: member.value, path: path / Self.comment).string("a text")
        continue
      }
      throw ProfileError(
        path / member.name, expected: "one of the keys " + keys.joined(separator: ", "),
        found: quoted(member.name) + NearestWord.hint(for: member.name, among: keys))
    }
  }

  /// The value of a key, or nil if it is absent. null is a value, and never valid.
  package subscript(key: String) -> ProfileField? {
    members.first { $0.name == key }.map { ProfileField(node: $0.value, path: path / key) }
  }

  /// Returns the value of a required key.
  package func required(_ key: String, _ expected: String) throws(ProfileError) -> ProfileField {
    guard let field = self[key] else {
      throw ProfileError(path, expected: "the key \"\(key)\", \(expected)", found: "none")
    }
    return field
  }
}
