/// A JSON value with its position in the file.
///
/// Foundation's decoder reports neither the position of a value nor a repeated key, and adds tens of
/// megabytes to a static binary.
package struct JSONNode: Equatable, Sendable {
  package enum Content: Equatable, Sendable {
    case null
    case bool(Bool)
    /// The number as written, so that nothing is rounded.
    case number(String)
    case string(String)
    case array([JSONNode])
    /// The members in the order of the file. Their names differ.
    case object([Member])
  }

  package struct Member: Equatable, Sendable {
    package var name: String
    /// The offset of the name in bytes.
    package var offset: Int
    package var value: JSONNode
  }

  /// The offset of the value in bytes.
  package var offset: Int
  package var content: Content

  package init(offset: Int, content: Content) {
    self.offset = offset
    self.content = content
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
