/// A point in time on a clock of the caller, in nanoseconds since a fixed moment.
///
/// This module has no clock. The caller passes the time, so that tests control it.
@frozen public struct Instant: Hashable, Comparable, Sendable {
  /// Nanoseconds since the start of the clock.
  public let nanoseconds: Int64

  /// Creates an instant this many nanoseconds after the start of the clock.
  @inlinable public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

  /// The start of the clock.
  public static let zero = Instant(nanoseconds: 0)

  @inlinable public static func < (a: Instant, b: Instant) -> Bool {
    a.nanoseconds < b.nanoseconds
  }

  /// Saturates at the ends of the clock, which are about 292 years away.
  @inlinable public static func + (instant: Instant, duration: Duration) -> Instant {
    let nanoseconds = duration.inNanoseconds
    // A duration that has saturated reaches the end from everywhere.
    guard nanoseconds != .max, nanoseconds != .min else { return Instant(nanoseconds: nanoseconds) }
    return instant.advanced(by: nanoseconds)
  }

  /// The instant this many nanoseconds later; saturates at the ends of the clock.
  @inlinable public func advanced(by nanoseconds: Int64) -> Instant {
    let (sum, far) = self.nanoseconds.addingReportingOverflow(nanoseconds)
    return far ? Instant(nanoseconds: nanoseconds < 0 ? .min : .max) : Instant(nanoseconds: sum)
  }

  /// The time between two instants.
  @inlinable public static func - (a: Instant, b: Instant) -> Duration {
    .nanoseconds(a.nanoseconds) - .nanoseconds(b.nanoseconds)
  }
}

extension Duration {
  /// Whole nanoseconds; saturates.
  @inlinable package var inNanoseconds: Int64 {
    let (seconds, attoseconds) = components
    let farthest: Int64 = seconds < 0 ? .min : .max
    let (whole, isFar) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    let (exact, isFarther) = whole.addingReportingOverflow(attoseconds / 1_000_000_000)
    return isFar || isFarther ? farthest : exact
  }
}
