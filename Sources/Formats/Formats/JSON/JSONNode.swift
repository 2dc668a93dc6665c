/// A JSON value with its position in the file.
///
/// Foundation's decoder reports neither the position of a value nor a repeated key, and adds tens of
/// megabytes to a static binary.
struct JSONNode: Equatable, Sendable {
  enum Content: Equatable, Sendable {
    case null
    case bool(Bool)
    /// The number as written, so that nothing is rounded.
    case number(String)
    case string(String)
    case array([JSONNode])
    /// The members in the order of the file. Their names differ.
    case object([Member])
  }

  struct Member: Equatable, Sendable {
    var name: String
    /// The offset of the name in bytes.
    var offset: Int
    var value: JSONNode
  }

  /// The offset of the value in bytes.
  var offset: Int
  var content: Content

  /// The value as messages describe it: `"text"`, `the number 12`, `a list`.
  var found: String {
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
