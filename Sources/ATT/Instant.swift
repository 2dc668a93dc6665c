/// A point on the clock that the caller keeps: nanoseconds since some fixed moment.
///
/// This floor has no clock. Time is handed in, so that a test can move it.
@frozen public struct Instant: Hashable, Comparable, Sendable {
  /// Nanoseconds since the clock's beginning.
  public let nanoseconds: Int64

  /// The moment that many nanoseconds after the clock's beginning.
  @inlinable public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

  /// The moment that virtual clocks begin at.
  public static let zero = Instant(nanoseconds: 0)

  @inlinable public static func < (a: Instant, b: Instant) -> Bool {
    a.nanoseconds < b.nanoseconds
  }

  /// Saturates at the ends of the clock, some 292 years away, as does a duration of more.
  @inlinable public static func + (instant: Instant, duration: Duration) -> Instant {
    let parts = duration.components
    let end = Instant(nanoseconds: duration < .zero ? .min : .max)
    let (whole, far) = parts.seconds.multipliedReportingOverflow(by: 1_000_000_000)
    let (nanoseconds, further) = whole.addingReportingOverflow(
      parts.attoseconds / 1_000_000_000)
    if far || further { return end }
    let (sum, furthest) = instant.nanoseconds.addingReportingOverflow(nanoseconds)
    return furthest ? end : Instant(nanoseconds: sum)
  }

  /// So many nanoseconds later; saturates at the ends of the clock.
  @inlinable public func advanced(by nanoseconds: Int64) -> Instant {
    let (sum, far) = self.nanoseconds.addingReportingOverflow(nanoseconds)
    return far ? Instant(nanoseconds: nanoseconds < 0 ? .min : .max) : Instant(nanoseconds: sum)
  }

  /// The time between two instants.
  @inlinable public static func - (a: Instant, b: Instant) -> Duration {
    .nanoseconds(a.nanoseconds) - .nanoseconds(b.nanoseconds)
  }
}
