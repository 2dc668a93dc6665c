/// When the radio of an adapter of the kernel listens during a scan: for ``window`` at the beginning of each
/// ``interval``. Vol 4, Part E, 7.8.10.
public struct ScanTiming: Hashable, Sendable {
  /// The values of both, in units of 0.625 ms: 2.5 ms to 10.24 s.
  public static let range: ClosedRange<UInt16> = 4...0x4000

  /// In units of 0.625 ms.
  public let interval: UInt16
  /// In units of 0.625 ms, at most ``interval``.
  public let window: UInt16

  /// nil outside ``range``, and for a window that is longer than the interval.
  public init?(interval: UInt16, window: UInt16) {
    guard Self.range.contains(interval), Self.range.contains(window), window <= interval else {
      return nil
    }
    (self.interval, self.window) = (interval, window)
  }

  /// Times are rounded to units; nil as above.
  public init?(interval: Duration, window: Duration) {
    func units(_ time: Duration) -> UInt16? {
      UInt16(exactly: (time / .microseconds(625)).rounded())
    }
    guard let interval = units(interval), let window = units(window) else { return nil }
    self.init(interval: interval, window: window)
  }

  /// The part of the time in which the radio listens, more than 0 to 1.
  public var share: Double { Double(window) / Double(interval) }
}

extension ScanTiming: CustomStringConvertible {
  /// `30 of each 60 ms`
  public var description: String {
    func milliseconds(_ units: UInt16) -> String {
      let value = Double(units) * 0.625
      return value == value.rounded() ? "\(Int(value))" : "\(value)"
    }
    return "\(milliseconds(window)) of each \(milliseconds(interval)) ms"
  }
}
