/// The standard library's functions for this bring its engine of regular expressions, which adds more
/// than a megabyte to a static binary.
extension StringProtocol {
  /// The text between the occurrences of a separator, without empty pieces.
  ///
  /// - Parameter maxSplits: after so many occurrences, the rest is one piece.
  package func pieces(between separator: String, maxSplits: Int = .max) -> [SubSequence] {
    parts(between: separator, maxSplits: maxSplits).filter { !$0.isEmpty }
  }

  /// The text with another in place of each occurrence of a part.
  package func replacing(each part: String, with new: String) -> String {
    parts(between: part, maxSplits: .max).joined(separator: new)
  }

  private func parts(between separator: String, maxSplits: Int) -> [SubSequence] {
    var parts: [SubSequence] = []
    var (start, index) = (startIndex, startIndex)
    // UTF-8 tells where a scalar begins, so that octets that are the same are the same scalars.
    while !separator.isEmpty, index < endIndex, parts.count < maxSplits {
      if utf8[index...].starts(with: separator.utf8) {
        parts.append(self[start..<index])
        index = utf8.index(index, offsetBy: separator.utf8.count)
        start = index
      } else {
        index = utf8.index(after: index)
      }
    }
    parts.append(self[start...])
    return parts
  }
}

extension Collection where Element: Equatable {
  /// Whether the elements of a part follow each other somewhere in here.
  package func hasPart(_ part: some Collection<Element>) -> Bool {
    part.isEmpty || indices.contains { self[$0...].starts(with: part) }
  }
}
