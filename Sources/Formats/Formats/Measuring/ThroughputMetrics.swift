/// The value of the characteristic of Nordic's throughput service (nRF Connect SDK, `bt_throughput_metrics`):
/// what the server has received since the metrics were cleared. Its numbers wrap at 2^32.
public struct ThroughputMetrics: Sendable, Equatable {
  /// Writes, without those of one octet, which clear the metrics.
  public var writes: UInt32 = 0
  /// The total length of the written values in octets.
  public var octets: UInt32 = 0
  /// Bits per second, from the clearing to the last write.
  public var bitsPerSecond: UInt32 = 0

  /// The length of the encoded metrics in octets.
  public static let length = 12

  /// Creates metrics of no writes.
  public init() {}

  /// Creates metrics of writes that took this time.
  public init(writes: Int, octets: Int, nanoseconds: Int64) {
    self.writes = UInt32(truncatingIfNeeded: writes)
    self.octets = UInt32(truncatingIfNeeded: octets)
    guard nanoseconds > 0 else { return }
    let rate = Double(octets) * 8e9 / Double(nanoseconds)
    bitsPerSecond = UInt32(exactly: rate.rounded(.down)) ?? .max
  }

  /// The encoded metrics: writes, octets and bits per second, in four octets each, little-endian.
  public var value: [UInt8] {
    [writes, octets, bitsPerSecond].flatMap { number in
      (0..<4).map { UInt8(truncatingIfNeeded: number >> (8 * UInt32($0))) }
    }
  }

  /// Decodes metrics. Returns nil if the length is wrong.
  public init?(value: [UInt8]) {
    guard value.count == Self.length else { return nil }
    func number(_ index: Int) -> UInt32 {
      value[index * 4..<index * 4 + 4].reversed().reduce(0) { $0 << 8 | UInt32($1) }
    }
    (writes, octets, bitsPerSecond) = (number(0), number(1), number(2))
  }
}
