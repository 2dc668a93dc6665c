import Glibc

/// A histogram of latencies, of constant size.
///
/// A bucket is 1/128 as wide as the power of two below it, so that the error of a percentile is at
/// most 1 %. Below 256 ns buckets are exact; 2^44 ns (4.9 hours) and more share the last one. The
/// maximum is exact.
struct Histogram: Sendable {
  private static let fineBits = 7
  private static let topBit = 44
  private static let size = (topBit - fineBits + 1) << fineBits
  private var counts = [UInt64](repeating: 0, count: Histogram.size)
  private(set) var count: UInt64 = 0
  private(set) var maximum: Int64 = 0
  private(set) var minimum: Int64 = .max
  private var sum = 0.0

  static func index(of nanoseconds: Int64) -> Int {
    let value = UInt64(max(0, nanoseconds))
    guard value >= 1 << fineBits else { return Int(value) }
    let bit = 63 - value.leadingZeroBitCount
    guard bit < topBit else { return size - 1 }
    return (bit - fineBits) << fineBits + Int(value >> UInt64(bit - fineBits))
  }

  static func lowerBound(of index: Int) -> Int64 {
    guard index >= 1 << fineBits else { return Int64(index) }
    let shift = (index >> fineBits) - 1
    return Int64(index - shift << fineBits) << Int64(shift)
  }

  mutating func add(_ nanoseconds: Int64) {
    counts[Self.index(of: nanoseconds)] += 1
    count += 1
    sum += Double(nanoseconds)
    maximum = max(maximum, nanoseconds)
    minimum = min(minimum, nanoseconds)
  }

  var mean: Double { count > 0 ? sum / Double(count) : 0 }

  /// A percentile in nanoseconds: the upper end of its bucket.
  func percentile(_ share: Double) -> Int64 {
    guard count > 0 else { return 0 }
    let rank = max(1, UInt64((Double(count) * share).rounded(.up)))
    var seen: UInt64 = 0
    for index in counts.indices {
      seen += counts[index]
      if seen >= rank { return min(maximum, Self.lowerBound(of: index + 1) - 1) }
    }
    return maximum
  }

  /// Bars of a chart between the minimum and the maximum, each wider by the same factor.
  func bars(_ number: Int) -> [(from: Double, to: Double, count: UInt64)] {
    guard count > 0, minimum < .max else { return [] }
    let low = max(1, Double(minimum) * 0.97)
    let high = max(low * 1.05, Double(maximum) * 1.03)
    let factor = pow(high / low, 1 / Double(number))
    var bars: [(from: Double, to: Double, count: UInt64)] = []
    var from = low
    for _ in 0..<number {
      bars.append((from, from * factor, 0))
      from *= factor
    }
    var bar = 0
    for index in counts.indices where counts[index] > 0 {
      let middle =
        Double(Self.lowerBound(of: index) + max(0, Self.lowerBound(of: index + 1) - 1)) / 2
      while bar < number - 1, middle >= bars[bar].to { bar += 1 }
      bars[bar].count += counts[index]
    }
    return bars
  }
}
