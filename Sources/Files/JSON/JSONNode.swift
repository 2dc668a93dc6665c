/// A JSON value together with the place it was read from.
///
/// Why not the decoder of Foundation: it knows neither where a value stood nor that a key was
/// there twice, which is just what a person who mistyped a profile needs to be told; and it
/// adds tens of megabytes to a static binary.
struct JSONNode: Equatable, Sendable {
  enum Content: Equatable, Sendable {
    case null
    case bool(Bool)
    /// The number as written, so that nothing is lost to rounding.
    case number(String)
    case string(String)
    case array([JSONNode])
    /// The members in the order of the file; no name twice.
    case object([Member])
  }

  struct Member: Equatable, Sendable {
    var name: String
    /// The byte where the name begins.
    var offset: Int
    var value: JSONNode
  }

  /// The byte of the file where the value begins.
  var offset: Int
  var content: Content

  /// What this is, as a message says it: `"text"`, `the number 12`, `a list`.
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

/// A text that is no JSON: where, and what would have been right there.
struct JSONSyntaxError: Error, Equatable {
  var offset: Int
  var expected: String
  var found: String
}
