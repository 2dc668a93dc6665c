import AttoText

/// The hint for a word that is probably misspelled.
package enum Suggestion {
  /// `did you mean "x"?`; nil if none of the words is near, and not just one begins like it.
  ///
  /// - Parameter prefix: comes before each of the words, where they are typed.
  package static func hint(
    for word: some StringProtocol, among words: [String], prefix: String = ""
  ) -> String? {
    let longer = words.filter { word.utf8.count > 1 && $0.hasPrefix(word) }
    let near = longer.count == 1 ? longer[0] : NearestWord.of(String(word), among: words)
    return near.map { "did you mean \"\(prefix)\($0)\"?" }
  }
}
