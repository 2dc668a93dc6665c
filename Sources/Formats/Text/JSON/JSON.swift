/// A JSON value: one of a file, with its position, or one to be written.
///
/// Foundation's decoder reports neither the position of a value nor a repeated key, and adds tens of
/// megabytes to a static binary.
package struct JSON: Sendable {
  package enum Content: Equatable, Sendable {
    case null
    case bool(Bool)
    /// The number as JSON writes it, so that nothing is rounded.
    case number(String)
    case string(String)
    case array([JSON])
    /// The members in their order. In a file, their names differ.
    case object([Member])
  }

  package struct Member: Sendable {
    package var name: String
    /// The offset of the name in the file, in bytes.
    package var offset = 0
    package var value: JSON
  }

  package var content: Content
  /// The offset of the value in the file, in bytes; 0 for a value to be written.
  package var offset: Int

  package init(_ content: Content, offset: Int = 0) {
    self.content = content
    self.offset = offset
  }

  /// The value as messages describe it: `"text"`, `the number 12`, `a list`.
  package var found: String {
    switch content {
    case .null: "null"
    case .bool(let value): "\(value)"
    case .number(let text): "the number " + (text.utf8.count > 40 ? text.prefix(40) + "…" : text)
    case .string(let text): quoted(text)
    case .array: "a list"
    case .object: "an object"
    }
  }
}

/// Values are equal wherever they stand.
extension JSON: Equatable {
  package static func == (a: JSON, b: JSON) -> Bool { a.content == b.content }
}

extension JSON.Member: Equatable {
  package static func == (a: JSON.Member, b: JSON.Member) -> Bool {
    a.name == b.name && a.value == b.value
  }
}

// MARK: - Values to be written

extension JSON {
  package static var null: JSON { JSON(.null) }
  package static func bool(_ value: Bool) -> JSON { JSON(.bool(value)) }
  package static func integer(_ number: Int) -> JSON { JSON(.number("\(number)")) }
  /// A number as JSON writes it.
  package static func number(_ text: String) -> JSON { JSON(.number(text)) }
  package static func string(_ text: String) -> JSON { JSON(.string(text)) }
  package static func array(_ values: [JSON]) -> JSON { JSON(.array(values)) }
  package static func object(_ members: [(name: String, value: JSON)]) -> JSON {
    JSON(.object(members.map { Member(name: $0.name, value: $0.value) }))
  }

  /// The text, without spaces. What terminals do not show is escaped.
  package var text: String {
    switch content {
    case .string(let text): Self.literal(text)
    case .number(let text): text
    case .bool(let value): value ? "true" : "false"
    case .null: "null"
    case .array(let values): "[" + values.map(\.text).joined(separator: ",") + "]"
    case .object(let members):
      "{" + members.map { Self.literal($0.name) + ":" + $0.value.text }.joined(separator: ",") + "}"
    }
  }

  private static func literal(_ text: String) -> String {
    var literal = "\""
    for scalar in text.unicodeScalars {
      if scalar == "\"" || scalar == "\\" { literal += "\\" }
      literal.unicodeScalars.append(scalar)
    }
    return literal.printableJSON + "\""
  }
}

extension JSON {
  /// The members of an object that are strings, by name: the last one of each; nil if the octets are more
  /// than `limit` or no object.
  package static func texts(of octets: [UInt8], limit: Int) -> [String: String]? {
    guard octets.count <= limit, let node = try? JSONParser.parse(octets),
      case .object(let members) = node.content
    else { return nil }
    var texts: [String: String] = [:]
    for member in members {
      if case .string(let text) = member.value.content { texts[member.name] = text }
    }
    return texts
  }
}
