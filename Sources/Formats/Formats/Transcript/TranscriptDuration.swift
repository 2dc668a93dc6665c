import AttoATT

/// Durations in transcripts: a decimal number with the unit `s`, `ms` or `us`.
enum TranscriptDuration {
  /// The longest duration: a day.
  static let limit = Duration.seconds(86_400)

  private static let units: [(name: String, nanoseconds: Int64)] = [
    ("us", 1000), ("ms", 1_000_000), ("s", 1_000_000_000),
  ]

  /// Returns nil for any other text, such as one with a sign, an exponent or a fraction of a nanosecond.
  static func parse(_ text: String) -> Duration? {
    guard let (name, unit) = units.first(where: { text.hasSuffix($0.name) }) else { return nil }
    let number = text.utf8.dropLast(name.utf8.count)
    let parts = number.split(separator: 0x2E, omittingEmptySubsequences: false)
    guard 1...2 ~= parts.count, let whole = digits(parts[0]) else { return nil }
    var nanoseconds = whole.multipliedReportingOverflow(by: unit)
    guard !nanoseconds.overflow else { return nil }
    if parts.count == 2 {
      var scale = unit
      for _ in parts[1] {
        guard scale % 10 == 0 else { return nil }
        scale /= 10
      }
      // The fraction is less than one unit, so the product fits.
      guard let fraction = digits(parts[1]) else { return nil }
      nanoseconds = nanoseconds.partialValue.addingReportingOverflow(fraction * scale)
      guard !nanoseconds.overflow else { return nil }
    }
    let duration = Duration.nanoseconds(nanoseconds.partialValue)
    return duration <= limit ? duration : nil
  }

  /// One to fifteen decimal digits.
  private static func digits(_ text: some Collection<UInt8>) -> Int64? {
    guard 1...15 ~= text.count else { return nil }
    var value: Int64 = 0
    for byte in text {
      guard 0x30...0x39 ~= byte else { return nil }
      value = value * 10 + Int64(byte - 0x30)
    }
    return value
  }

  /// The duration in the largest unit that gives at least 1, without trailing zeros: `30.1s`, `200ms`.
  static func text(_ duration: Duration) -> String {
    let nanoseconds = duration.inNanoseconds
    guard nanoseconds != 0 else { return "0s" }
    let (name, unit) = units.last { nanoseconds >= $0.nanoseconds } ?? units[0]
    var text = "\(nanoseconds / unit)"
    var rest = nanoseconds % unit
    if rest > 0 {
      text += "."
      var scale = unit / 10
      while rest > 0 {
        text += "\(rest / scale)"
        rest %= scale
        scale /= 10
      }
    }
    return text + name
  }
}
