/// An object of the file, whose keys are all known.
struct ProfileObject {
  /// Every object may carry one: a text for people.
  static let comment = "comment"

  private let members: [JSONNode.Member]
  let path: ProfilePath

  /// Takes the field as an object that has none but these keys.
  init(_ field: ProfileField, keys: [String]) throws(ProfileError) {
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

  /// The value of a key, or nil where it is absent. null is a value, and never the right one.
  subscript(key: String) -> ProfileField? {
    members.first { $0.name == key }.map { ProfileField(node: $0.value, path: path / key) }
  }

  /// The value of a key that must be there.
  func required(_ key: String, _ expected: String) throws(ProfileError) -> ProfileField {
    guard let field = self[key] else {
      throw ProfileError(path, expected: "the key \"\(key)\", \(expected)", found: "none")
    }
    return field
  }
}
