import AttoCommandLine
import Glibc

/// The charts of a report, as SVG. An earlier run is a dashed line in the same chart.
///
/// The letters must be readable on a page of 400 pixels: the drawing is hardly wider.
enum BenchChart {
  private static let width = 480.0
  static let height = 240.0
  private static let left = 60.0
  static let right = 452.0
  private static let top = 36.0
  private static let bottom = 206.0
  /// A little more than the width of a letter.
  static let letter = 8.5

  /// A chart of the rate over time, with the limit of the link.
  static func rate(_ result: BenchResult, before: BenchResult?) -> String {
    let hasOctets = result.size > 0 && before?.size != 0
    func curve(_ result: BenchResult) -> [RateOverTime.Step] {
      (result.rateOverTime ?? []).map {
        RateOverTime.Step(seconds: $0.seconds, rate: $0.rate * (hasOctets ? result.size : 1))
      }
    }
    let now = curve(result)
    let past = before.map(curve) ?? []
    let all = now + past
    guard !now.isEmpty, let seconds = all.map(\.seconds).max(), seconds > 0 else {
      return "<p>No data.</p>"
    }
    let limit = hasOctets ? result.link?.limitBytesPerSecond : nil
    let most = nice(max(all.map(\.rate).max() ?? 0, limit ?? 0))
    let unit = hasOctets ? "B/s" : "per second"
    func x(_ value: Double) -> Double { left + value / seconds * (right - left) }
    func y(_ value: Double) -> Double { bottom - value / most * (bottom - top) }
    func line(_ steps: [RateOverTime.Step]) -> String {
      var begin = 0.0
      return steps.map { step in
        defer { begin = step.seconds }
        return "\(point(x(begin), y(step.rate))) \(point(x(step.seconds), y(step.rate)))"
      }.joined(separator: " ")
    }
    var svg = open("\(unit) over time") + scale(most, "") + label(left, 16, unit, "start")
    let power = pow(10, log10(seconds / 5).rounded(.down))
    let tick = ([1.0, 2, 5].first { $0 * power >= seconds / 5 } ?? 10) * power
    let (one, name) = tick >= 0.01 ? (1.0, " s") : tick >= 1e-5 ? (1e-3, " ms") : (1e-6, " us")
    for step in 0...5 where tick * Double(step) <= seconds {
      let value = tick * Double(step)
      svg += label(x(value), bottom + 20, short(value / one) + name, "middle")
    }
    let drawn = line(now)
    svg += "<polygon class=\"area\" points=\"\(point(x(0), bottom)) \(drawn) "
    svg += "\(point(x(now[now.count - 1].seconds), bottom))\"/>"
    svg += "<polyline class=\"line\" points=\"\(drawn)\"/>"
    if !past.isEmpty { svg += "<polyline class=\"past\" points=\"\(line(past))\"/>" }
    if let limit {
      svg += mark(left, right, y(limit), y(limit))
      let text = "limit of the link: \(Decimal.text(limit, places: 0)) B/s"
      svg += label(right, y(limit) - 6, text, "end", "name")
    }
    return svg + "</svg>"
  }

  /// A histogram of latencies on a logarithmic axis, with percentiles.
  static func latencies(_ result: BenchResult, before: BenchResult?) -> String {
    let now = result.latencyHistogram ?? []
    let past = before?.latencyHistogram ?? []
    let places = (now + past).map(\.place)
    guard !now.isEmpty, var low = places.min(), var high = places.max() else {
      return "<p>No data.</p>"
    }
    // Equal latencies still need an axis with labels.
    while high - low < 20 { (low, high) = (max(0, low - 1), high + 1) }
    let merged = (high - low) / 60 + 1
    let count = (high - low) / merged + 1
    let (start, end) = (Histogram.Bin.begin(low), Histogram.Bin.begin(low + merged * count))
    func x(_ nanoseconds: Double) -> Double {
      let place = log10(max(nanoseconds, start) / start) / log10(end / start)
      return left + min(1, place) * (right - left)
    }
    func edge(_ bar: Int) -> Double { x(Histogram.Bin.begin(low + bar * merged)) }
    func shares(_ bins: [Histogram.Bin]) -> [Double] {
      var shares = [Double](repeating: 0, count: count)
      let total = max(1, bins.reduce(0) { $0 + Double($1.count) })
      for bin in bins { shares[(bin.place - low) / merged] += Double(bin.count) / total * 100 }
      return shares
    }
    let (bars, outline) = (shares(now), shares(past))
    let most = nice(((bars + outline).max() ?? 1).rounded(places: 6))
    // Rare latencies must be visible too.
    func tall(_ share: Double) -> Double {
      share > 0 ? max(1.5, share / most * (bottom - top)) : 0
    }
    var svg = open("share of the values by latency, logarithmic") + scale(most, " %")
    svg += label(left, 16, "% of values", "start")
    for (bar, share) in bars.enumerated() where share > 0 {
      let wide = max(1, edge(bar + 1) - edge(bar) - 1)
      svg += "<rect class=\"bar\" x=\"\(fixed(edge(bar)))\" y=\"\(fixed(bottom - tall(share)))\" "
      svg += "width=\"\(fixed(wide))\" height=\"\(fixed(tall(share)))\"/>"
    }
    if !past.isEmpty {
      let line = outline.enumerated().map { bar, share in
        point(edge(bar), bottom - tall(share)) + " " + point(edge(bar + 1), bottom - tall(share))
      }
      svg += "<polyline class=\"past\" points=\"\(line.joined(separator: " "))\"/>"
    }
    for value in ticks(start, end, x) {
      svg += label(x(value), bottom + 20, time(value), "middle")
    }
    let latency = result.latencyMicroseconds
    for (row, part) in [("p50", latency.p50), ("p90", latency.p90), ("p99", latency.p99)]
      .enumerated()
    {
      // A row of its own for each: they may be near each other.
      let (at, y) = (x(part.1 * 1000), top - 6 + 15 * Double(row))
      let isLast = at > right - 30
      svg += mark(at, at, y, bottom)
      svg += label(at + (isLast ? -4 : 4), y + 5, part.0, isLast ? "end" : "start", "name")
    }
    return svg + "</svg>"
  }

  // MARK: Parts

  static func open(_ what: String, height: Double = height) -> String {
    "<svg viewBox=\"0 0 \(Int(width)) \(Int(height))\" role=\"img\" aria-label=\"\(what)\">"
  }

  /// Lines across the chart from 0 to the top, with labels.
  private static func scale(_ most: Double, _ unit: String) -> String {
    (0...4).map { step in
      let y = bottom - Double(step) / 4 * (bottom - top)
      return "<line class=\"grid\" x1=\"\(left)\" x2=\"\(right)\" y1=\"\(fixed(y))\" "
        + "y2=\"\(fixed(y))\"/>"
        + label(left - 6, y + 5, short(most * Double(step) / 4) + unit, "end")
    }.joined()
  }

  private static func mark(_ x1: Double, _ x2: Double, _ y1: Double, _ y2: Double) -> String {
    "<line class=\"mark\" x1=\"\(fixed(x1))\" x2=\"\(fixed(x2))\" y1=\"\(fixed(y1))\" "
      + "y2=\"\(fixed(y2))\"/>"
  }

  static func label(
    _ x: Double, _ y: Double, _ text: String, _ anchor: String, _ style: String = "axis"
  ) -> String {
    // Labels of an axis must not exceed the drawing.
    let x = anchor == "middle" ? min(x, width - Double(text.count) * letter / 2) : x
    return "<text class=\"\(style)\" x=\"\(fixed(x))\" y=\"\(fixed(y))\" text-anchor=\"\(anchor)\">"
      + "\(text)</text>"
  }

  private static func point(_ x: Double, _ y: Double) -> String { "\(fixed(x)),\(fixed(y))" }

  static func fixed(_ value: Double) -> String { Decimal.text(value, places: 1) }

  /// Round values of a logarithmic axis, as many as their labels have room for.
  private static func ticks(
    _ start: Double, _ end: Double, _ x: (Double) -> Double
  ) -> [Double] {
    let decades = Int(log10(start).rounded(.down))...Int(log10(end).rounded(.up))
    // In tenths of a decade's first value, in each decade or in some.
    var choices = [1, 2, 5, 10].map { (Array(stride(from: 10, to: 100, by: $0)), 1) }
    choices += [
      ([10, 20, 30, 50, 70], 1), ([10, 20, 50], 1), ([10, 30], 1), ([10], 1), ([10], 2), ([10], 3),
    ]
    for (tenths, every) in choices {
      let values = decades.filter { $0 % every == 0 }.flatMap { decade in
        tenths.map { Double($0) * pow(10, Double(decade - 1)) }
      }.filter { (start...end).contains($0) }
      let areNear = zip(values, values.dropFirst()).contains { x($1) - x($0) < 7 * letter }
      if !areNear { return values }
    }
    return [start, end]
  }

  /// The next of 1, 2, 4, 5, 8, 10 times a power of ten.
  static func nice(_ value: Double) -> Double {
    guard value > 0 else { return 1 }
    let power = pow(10, log10(value).rounded(.down))
    return ([1.0, 2, 4, 5, 8].first { $0 * power >= value } ?? 10) * power
  }

  /// 12000 as 12k.
  private static func short(_ value: Double) -> String {
    if value >= 1e6 { return trimmed(value / 1e6) + "M" }
    return value >= 1e3 ? trimmed(value / 1e3) + "k" : trimmed(value)
  }

  static func time(_ nanoseconds: Double) -> String {
    if nanoseconds >= 999_999_999 { return trimmed(nanoseconds / 1e9) + " s" }
    if nanoseconds >= 999_999 { return trimmed(nanoseconds / 1e6) + " ms" }
    return nanoseconds >= 999 ? trimmed(nanoseconds / 1e3) + " us" : trimmed(nanoseconds) + " ns"
  }

  /// The number with at most two decimals, or more where it is small.
  private static func trimmed(_ value: Double) -> String {
    var text = Decimal.text(value, places: value < 0.1 ? 5 : 2)
    guard text.contains("."), !text.contains("e") else { return text }
    while text.last == "0" { text.removeLast() }
    if text.last == "." { text.removeLast() }
    return text
  }
}
