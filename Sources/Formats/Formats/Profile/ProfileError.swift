import AttoText

/// A mistake in a profile.
public struct ProfileError: Error, Equatable, Sendable {
  /// The name of the file; nil for bytes without a name.
  public var file: String?
  /// The position in the text; nil if the profile was not read from text.
  public var position: TextPosition?
  /// The path of the value, such as `services[0].characteristics[1].value`; empty for the whole file.
  public var path: String { place.description }
  /// The correct form, as a noun phrase: `a UUID such as "180D"`.
  public var expected: String
  /// The actual value: `"18OD"`; why the file cannot be read if ``isUnreadable``.
  public var found: String
  /// Whether the file could not be read at all.
  public private(set) var isUnreadable = false

  var place: ProfilePath

  package init(_ place: ProfilePath, expected: String, found: String) {
    self.place = place
    self.expected = expected
    self.found = found
  }

  init(unreadable file: String, _ failure: FileBytes.Failure) {
    self.init(ProfilePath(), expected: "a readable file", found: failure.reason)
    self.file = file
    isUnreadable = true
  }
}

extension ProfileError: CustomStringConvertible {
  /// `strap.json:12:17: services[0].uuid: expected a UUID such as "180D", found "18OD"`, or
  /// `cannot read strap.json: No such file or directory`.
  public var description: String {
    if isUnreadable { return "cannot read \(file ?? "profile"): \(found)" }
    var text = file ?? "profile"
    if let position { text += ":\(position)" }
    if !place.steps.isEmpty { text += ": \(place)" }
    return text + ": expected \(expected), found \(found)"
  }
}

/// The path from the top of a profile to a value.
package struct ProfilePath: Equatable, Sendable {
  enum Step: Equatable, Sendable {
    case key(String)
    case index(Int)
  }

  var steps: [Step] = []

  package static func / (path: ProfilePath, key: String) -> ProfilePath {
    ProfilePath(steps: path.steps + [.key(key)])
  }

  package static func / (path: ProfilePath, index: Int) -> ProfilePath {
    ProfilePath(steps: path.steps + [.index(index)])
  }

  /// The offset of the value at this path under `node`, or of its nearest ancestor if it is missing.
  func offset(in node: JSON) -> Int {
    var node = node
    for step in steps {
      switch (step, node.content) {
      case (.key(let name), .object(let members)):
        guard let member = members.first(where: { $0.name == name }) else { return node.offset }
        node = member.value
      case (.index(let index), .array(let nodes)) where nodes.indices.contains(index):
        node = nodes[index]
      default: return node.offset
      }
    }
    return node.offset
  }
}

extension ProfilePath: CustomStringConvertible {
  package var description: String {
    var text = ""
    for step in steps {
      switch step {
      case .index(let index): text += "[\(index)]"
      case .key(let name) where name.utf8.allSatisfy(isWordByte) && !name.isEmpty:
        text += text.isEmpty ? name : "." + name
      case .key(let name): text += "[" + quoted(name) + "]"
      }
    }
    return text
  }
}

/// Whether a path shows this character of a key without quotes.
private func isWordByte(_ byte: UInt8) -> Bool {
  switch byte {
  case 0x30...0x39, 0x41...0x5A, 0x5F, 0x61...0x7A: true
  default: false
  }
}
