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

  /// A class of a coarser histogram, for charts.
  struct Bin: Codable, Sendable, Equatable {
    /// Classes per power of ten. All histograms have the same classes, so that they can be compared.
    static let perDecade = 100.0

    /// The middle of the class.
    var microseconds: Double
    var count: UInt64

    /// The number of the class: 0 begins at 1 ns.
    var place: Int { Self.place(microseconds * 1000) }

    static func place(_ nanoseconds: Double) -> Int {
      Int((log10(max(1, nanoseconds)) * perDecade).rounded(.down))
    }

    /// Where a class begins, in nanoseconds.
    static func begin(_ place: Int) -> Double { pow(10, Double(place) / perDecade) }
  }

  /// The classes that are not empty, shortest latency first.
  var bins: [Bin] {
    var bins: [Bin] = []
    var last: Int?
    for index in counts.indices where counts[index] > 0 {
      let end = max(0, Self.lowerBound(of: index + 1) - 1)
      let place = Bin.place(Double(Self.lowerBound(of: index) + end) / 2)
      if place == last {
        bins[bins.count - 1].count += counts[index]
      } else {
        let middle = (Bin.begin(place) * Bin.begin(place + 1)).squareRoot()
        bins.append(Bin(microseconds: (middle / 1000).rounded(places: 3), count: counts[index]))
        last = place
      }
    }
    return bins
  }
}
