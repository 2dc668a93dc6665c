/// A point on the clock that the caller keeps: nanoseconds since some fixed moment.
///
/// This floor has no clock. Time is handed in, so that a test can move it.
@frozen public struct Instant: Hashable, Comparable, Sendable {
  public let nanoseconds: Int64

  @inlinable public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

  /// The moment that virtual clocks begin at.
  public static let zero = Instant(nanoseconds: 0)

  @inlinable public static func < (a: Instant, b: Instant) -> Bool {
    a.nanoseconds < b.nanoseconds
  }

  /// Saturates at the ends of the clock, some 292 years away.
  @inlinable public static func + (instant: Instant, duration: Duration) -> Instant {
    let parts = duration.components
    let (seconds, far) = parts.seconds.multipliedReportingOverflow(by: 1_000_000_000)
    let (sum, further) = instant.nanoseconds.addingReportingOverflow(
      far ? (parts.seconds < 0 ? .min : .max) : seconds)
    let whole = further ? (parts.seconds < 0 ? Int64.min : .max) : sum
    let (total, furthest) = whole.addingReportingOverflow(parts.attoseconds / 1_000_000_000)
    return Instant(nanoseconds: furthest ? (parts.attoseconds < 0 ? .min : .max) : total)
  }

  /// The time between two instants.
  @inlinable public static func - (a: Instant, b: Instant) -> Duration {
    .nanoseconds(a.nanoseconds) - .nanoseconds(b.nanoseconds)
  }
}
