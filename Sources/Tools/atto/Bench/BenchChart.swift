import Glibc

enum BenchChart {
  private static let width = 860.0
  private static let height = 220.0
  private static let left = 70.0
  private static let right = 850.0
  private static let top = 24.0
  private static let bottom = 190.0

  /// A chart of octets (or operations) per second over time.
  static func rate(_ rates: RateOverTime, elapsed: Int64, hasOctets: Bool) -> String {
    // The last slot is usually shorter.
    let width = Double(rates.width)
    let points: [(x: Double, y: Double)] = rates.slots.enumerated().compactMap { index, slot in
      let begin = Double(index) * width
      let length = min(width, Double(elapsed) - begin)
      guard length > width / 4 || rates.slots.count == 1, length > 0 else { return nil }
      let amount = hasOctets ? slot.octets : slot.count
      return ((begin + length / 2) / 1e9, Double(amount) * 1e9 / length)
    }
    guard let last = points.last else { return "<p>No data.</p>" }
    let seconds = max(Double(elapsed) / 1e9, last.x)
    let most = nice(points.map(\.y).max() ?? 1)
    func x(_ value: Double) -> Double { left + value / seconds * (right - left) }
    func y(_ value: Double) -> Double { bottom - value / most * (bottom - top) }
    var svg = open(hasOctets ? "bytes/s over seconds" : "operations/s over seconds")
    for step in 0...4 {
      let value = most * Double(step) / 4
      svg += grid(y(value)) + label(left - 8, y(value) + 4, short(value), "end")
    }
    for step in 0...5 {
      let value = seconds * Double(step) / 5
      let places = seconds < 1 ? 2 : seconds < 10 ? 1 : 0
      // The last label would exceed the chart.
      svg += label(
        x(value), bottom + 18, Decimal.text(value, places: places) + " s",
        step == 5 ? "end" : "middle")
    }
    let line = points.map { "\(fixed(x($0.x))),\(fixed(y($0.y)))" }.joined(separator: " ")
    let first = points[0]
    svg +=
      "<polygon class=\"area\" points=\"\(fixed(x(first.x))),\(bottom) \(line) "
      + "\(fixed(x(last.x))),\(bottom)\"/>"
    svg += "<polyline class=\"line\" points=\"\(line)\"/>"
    svg += label(left, 14, hasOctets ? "bytes/s" : "per second", "start")
    return svg + "</svg>"
  }

  /// A histogram of latencies on a logarithmic axis, with percentiles.
  static func histogram(_ latencies: Histogram) -> String {
    let bars = latencies.bars(60)
    guard let low = bars.first?.from, let high = bars.last?.to else {
      return "<p>No data.</p>"
    }
    let most = Double(bars.map(\.count).max() ?? 1)
    let span = log10(high / low)
    func x(_ value: Double) -> Double {
      left + log10(max(value, low) / low) / span * (right - left)
    }
    var svg = open("histogram of latencies in microseconds, logarithmic")
    svg += grid(bottom)
    for bar in bars where bar.count > 0 {
      // Rare latencies must be visible too.
      let tall = max(1.5, Double(bar.count) / most * (bottom - top - 14))
      svg +=
        "<rect class=\"bar\" x=\"\(fixed(x(bar.from) + 0.5))\" y=\"\(fixed(bottom - tall))\" "
        + "width=\"\(fixed(max(1, x(bar.to) - x(bar.from) - 1)))\" height=\"\(fixed(tall))\"/>"
    }
    let step = span < 1 ? [1.0, 1.5, 2, 3, 5, 7] : span < 2.5 ? [1.0, 2, 5] : [1.0]
    var decade = pow(10, log10(low).rounded(.down))
    while decade <= high {
      for factor in step where (low...high).contains(decade * factor) {
        svg += label(x(decade * factor), bottom + 18, time(decade * factor), "middle")
      }
      decade *= 10
    }
    var row = 0.0
    var before = -1000.0
    for (name, share) in [("p50", 0.5), ("p90", 0.9), ("p99", 0.99)] {
      let at = x(Double(latencies.percentile(share)))
      row = at - before < 34 ? row + 13 : 0
      before = at
      svg +=
        "<line class=\"mark\" x1=\"\(fixed(at))\" x2=\"\(fixed(at))\" y1=\"\(top - 6 + row)\" "
        + "y2=\"\(bottom)\"/>"
      svg += "<text class=\"name\" x=\"\(fixed(at + 4))\" y=\"\(top + 4 + row)\">\(name)</text>"
    }
    svg += label(left - 8, top + 14, short(most), "end") + label(left - 8, bottom, "0", "end")
    return svg + "</svg>"
  }

  private static func open(_ what: String) -> String {
    "<svg viewBox=\"0 0 \(Int(width)) \(Int(height))\" role=\"img\" aria-label=\"\(what)\">"
  }

  private static func grid(_ y: Double) -> String {
    "<line class=\"grid\" x1=\"\(left)\" x2=\"\(right)\" y1=\"\(fixed(y))\" y2=\"\(fixed(y))\"/>"
  }

  private static func label(_ x: Double, _ y: Double, _ text: String, _ anchor: String) -> String {
    "<text x=\"\(fixed(x))\" y=\"\(fixed(y))\" text-anchor=\"\(anchor)\">\(text)</text>"
  }

  private static func fixed(_ value: Double) -> String { Decimal.text(value, places: 1) }

  /// The next of 1, 2, 4, 5, 8, 10 times a power of ten.
  private static func nice(_ value: Double) -> Double {
    guard value > 0 else { return 1 }
    let power = pow(10, log10(value).rounded(.down))
    return ([1.0, 2, 4, 5, 8].first { $0 * power >= value } ?? 10) * power
  }

  /// 12000 as 12k.
  private static func short(_ value: Double) -> String {
    func text(_ value: Double) -> String {
      Decimal.text(value, places: value == value.rounded() ? 0 : 1)
    }
    if value >= 1e6 { return text(value / 1e6) + "M" }
    return value >= 1e3 ? text(value / 1e3) + "k" : text(value)
  }

  private static func time(_ nanoseconds: Double) -> String {
    func text(_ value: Double) -> String {
      Decimal.text(value, places: value < 10 && value != value.rounded() ? 1 : 0)
    }
    if nanoseconds >= 999_999_999 { return text(nanoseconds / 1e9) + " s" }
    if nanoseconds >= 999_999 { return text(nanoseconds / 1e6) + " ms" }
    return nanoseconds >= 999 ? text(nanoseconds / 1e3) + " µs" : text(nanoseconds) + " ns"
  }
}
