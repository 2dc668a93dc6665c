/// Finds the word of a list that the user probably meant.
package enum NearestWord {
  /// The nearest word if at most a third of its letters differ; nil if none is near, or the given word
  /// has more than 64 octets. Ignores case.
  package static func of(_ word: String, among words: [String]) -> String? {
    // A hostile key must not cost quadratic time.
    guard word.utf8.count <= 64 else { return nil }
    let given = Array(word.lowercased().utf8)
    var best: (word: String, distance: Int)?
    for candidate in words {
      let distance = editDistance(given, Array(candidate.lowercased().utf8))
      guard distance <= max(1, candidate.utf8.count / 3) else { continue }
      if best.map({ distance < $0.distance }) ?? true { best = (candidate, distance) }
    }
    return best?.word
  }

  /// The number of letters to insert, delete, replace or swap with a neighbour.
  private static func editDistance(_ a: [UInt8], _ b: [UInt8]) -> Int {
    var beforeLast: [Int] = []
    var last = Array(0...b.count)
    for i in a.indices {
      var row = [i + 1]
      for j in b.indices {
        var cost = min(last[j + 1] + 1, row[j] + 1, last[j] + (a[i] == b[j] ? 0 : 1))
        if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] {
          cost = min(cost, beforeLast[j - 1] + 1)
        }
        row.append(cost)
      }
      beforeLast = last
      last = row
    }
    return last[b.count]
  }

  /// ` (did you mean "x"?)`, or an empty text if no word is near.
  package static func hint(for word: String, among words: [String]) -> String {
    of(word, among: words).map { " (did you mean \"\($0)\"?)" } ?? ""
  }
}

/// The text in quotation marks for a message, truncated after 40 characters, with control characters
/// escaped.
package func quoted(_ text: String) -> String {
  var result = "\""
  for (count, scalar) in text.unicodeScalars.enumerated() {
    if count == 40 { return result + "…\"" }
    if scalar.properties.generalCategory == .control {
      result += scalar.escaped(asASCII: true)
    } else {
      result.unicodeScalars.append(scalar)
    }
  }
  return result + "\""
}
