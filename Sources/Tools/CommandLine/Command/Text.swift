extension String {
  /// The text with spaces after it.
  package func padded(to width: Int) -> String {
    self + String(repeating: " ", count: max(0, width - count))
  }

  /// The text with spaces or another character before it.
  package func padded(left width: Int, with character: Character = " ") -> String {
    String(repeating: character, count: max(0, width - count)) + self
  }
}

/// Numbers with a fixed number of decimals. Foundation's formatting would make the binary much larger.
package enum Decimal {
  /// Numbers from files may be of any size: beyond 64 bits they have an exponent.
  package static func text(_ value: Double, places: Int) -> String {
    guard let scaled = Int64(exactly: (value * scale(places)).rounded()) else { return "\(value)" }
    guard places > 0 else { return String(scaled) }
    let digits = String(scaled.magnitude).padded(left: places + 1, with: "0")
    return (scaled < 0 ? "-" : "") + digits.dropLast(places) + "." + digits.suffix(places)
  }

  fileprivate static func scale(_ places: Int) -> Double {
    (0..<places).reduce(1) { scale, _ in scale * 10 }
  }
}

extension Double {
  /// The value rounded to a number of decimals.
  package func rounded(places: Int) -> Double {
    let scale = Decimal.scale(places)
    return (self * scale).rounded() / scale
  }
}

extension [String] {
  /// The words as a choice: `a, b or c`.
  package var alternatives: String {
    guard let last, count > 1 else { return first ?? "" }
    return dropLast().joined(separator: ", ") + " or " + last
  }
}
