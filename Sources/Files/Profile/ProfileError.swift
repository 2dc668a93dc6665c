/// A mistake in a profile: where it is, what should stand there, and what does.
public struct ProfileError: Error, Equatable, Sendable {
  /// The file as the caller named it; nil for bytes without a name.
  public var file: String?
  /// nil for a profile that was not read from text.
  public var position: TextPosition?
  /// `services[0].characteristics[1].value`; empty for the whole file.
  public var path: String { place.description }
  /// What would have been right, as a clause: `a UUID such as "180D"`.
  public var expected: String
  /// What is there instead: `"18OD"`.
  public var found: String

  var place: ProfilePath

  init(_ place: ProfilePath, expected: String, found: String) {
    self.place = place
    self.expected = expected
    self.found = found
  }
}

extension ProfileError: CustomStringConvertible {
  /// `strap.json:12:17: services[0].uuid: expected a UUID such as "180D", found "18OD"`.
  public var description: String {
    var text = file ?? "profile"
    if let position { text += ":\(position)" }
    if !place.steps.isEmpty { text += ": \(place)" }
    return text + ": expected \(expected), found \(found)"
  }
}

/// The way from the top of a profile to a value in it.
struct ProfilePath: Equatable, Sendable {
  enum Step: Equatable, Sendable {
    case key(String)
    case index(Int)
  }

  var steps: [Step] = []

  static func / (path: ProfilePath, key: String) -> ProfilePath {
    ProfilePath(steps: path.steps + [.key(key)])
  }

  static func / (path: ProfilePath, index: Int) -> ProfilePath {
    ProfilePath(steps: path.steps + [.index(index)])
  }

  /// The byte where the value of this path stands under `node`, or the one nearest to it on
  /// the way where it is missing.
  func offset(in node: JSONNode) -> Int {
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
  var description: String {
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

/// Letters, digits and underscores need no quotes in a path.
private func isWordByte(_ byte: UInt8) -> Bool {
  switch byte {
  case 0x30...0x39, 0x41...0x5A, 0x5F, 0x61...0x7A: true
  default: false
  }
}
