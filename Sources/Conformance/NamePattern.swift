/// A pattern for names of cases: `*` stands for any number of characters, in either case of
/// letters; a pattern without one is found anywhere in a name.
public struct NamePattern: Sendable {
  private let parts: [[UInt8]]

  /// Names like this: `*` stands for any part of one.
  public init(_ text: String) {
    let lowered = Array(text.lowercased().utf8)
    let open = lowered.contains(0x2A) ? lowered : [0x2A] + lowered + [0x2A]
    parts = open.split(separator: 0x2A, omittingEmptySubsequences: false).map(Array.init)
  }

  /// Whether the whole name fits. The parts between stars are taken where they come first, the
  /// last one from the end.
  public func matches(_ name: String) -> Bool {
    var rest = Array(name.lowercased().utf8)[...]
    guard let first = parts.first, let last = parts.last, rest.starts(with: first) else {
      return false
    }
    rest = rest.dropFirst(first.count)
    for part in parts.dropFirst().dropLast() where !part.isEmpty {
      guard let start = rest.indices.first(where: { rest[$0...].starts(with: part) }) else {
        return false
      }
      rest = rest[(start + part.count)...]
    }
    return rest.count >= last.count && rest.suffix(last.count).elementsEqual(last)
  }
}
