/// A pattern for the names of cases, ignoring case. `*` matches any text; a pattern without `*`
/// matches anywhere in a name.
public struct NamePattern: Sendable {
  private let parts: [[UInt8]]

  /// Creates a pattern.
  public init(_ text: String) {
    let lowered = Array(text.lowercased().utf8)
    let open = lowered.contains(0x2A) ? lowered : [0x2A] + lowered + [0x2A]
    parts = open.split(separator: 0x2A, omittingEmptySubsequences: false).map(Array.init)
  }

  /// Whether the whole name matches.
  public func matches(_ name: String) -> Bool {
    var rest = Array(name.lowercased().utf8)[...]
    guard let first = parts.first, let last = parts.last, rest.starts(with: first) else {
      return false
    }
    rest = rest.dropFirst(first.count)
    // Each middle part matches at its first occurrence, the last part at the end.
    for part in parts.dropFirst().dropLast() where !part.isEmpty {
      guard let start = rest.indices.first(where: { rest[$0...].starts(with: part) }) else {
        return false
      }
      rest = rest[(start + part.count)...]
    }
    return rest.count >= last.count && rest.suffix(last.count).elementsEqual(last)
  }
}
