import AttoCommandLine
import AttoText

/// The stages of a result, in the form of `--json`.
struct BenchStages: Codable, Sendable {
  struct Part: Codable, Sendable {
    var stage: Stage
    /// Of the time of all stages.
    var share: Double
    var latencyMicroseconds: BenchResult.Latency
  }

  struct Missing: Codable, Sendable {
    var stages: [Stage]
    var reason: String
  }

  /// Operations that the stages are of.
  var count: UInt64
  /// Operations of which a stage is unknown.
  var leftOut: UInt64
  var parts: [Part]
  /// The stages that cannot be told apart; absent if all can.
  var missing: Missing?
  /// The longest stage in words.
  var summary: String?

  init(_ times: StageTimes, interval microseconds: Int64?) {
    (count, leftOut) = (times.count, times.leftOut)
    let total = times.sums.reduce(0, +)
    parts = (count > 0 ? Array(times.stages.indices) : []).map { index in
      let share = total > 0 ? times.sums[index] / total : 0
      return Part(
        stage: times.stages[index], share: share.rounded(places: 4),
        latencyMicroseconds: BenchResult.Latency(times.times[index]))
    }
    if !times.missing.isEmpty { missing = Missing(stages: times.missing, reason: times.reason) }
    guard times.operation != .value else {
      summary =
        "the way of a value to this machine is not timed, because the clocks of two machines cannot be"
        + " compared"
      return
    }
    guard count > 0, let longest = parts.max(by: { $0.share < $1.share }) else { return }
    var text =
      "\(Self.percent(longest.share)) of the time is spent \(longest.stage.text)"
    if longest.stage.isOnAir, let microseconds {
      let interval = Double(microseconds) / 1000
      let places = interval == interval.rounded() ? 0 : 2
      text += ", at a connection interval of \(Decimal.text(interval, places: places)) ms"
    }
    summary = text
  }

  /// Whether the figures can be those of a measurement. A file may hold anything.
  var isPlausible: Bool {
    parts.count <= Stage.allCases.count
      && parts.allSatisfy { part in
        let latency = part.latencyMicroseconds
        let figures = [latency.mean, latency.p50, latency.p90, latency.p99, latency.max]
        return (0...1).contains(part.share) && figures.allSatisfy { (0...1e12).contains($0) }
      }
  }

  /// The mean latency: the stages add up to it.
  var totalMicroseconds: Double { parts.reduce(0) { $0 + $1.latencyMicroseconds.mean } }

  static func percent(_ share: Double) -> String { "\(Decimal.text(share * 100, places: 1)) %" }

  static let head = ["", "share", "mean us", "p50 us", "p90 us", "p99 us", "max us"]

  var rows: [[String]] {
    parts.map { part in
      let latency = part.latencyMicroseconds
      let figures = [latency.mean, latency.p50, latency.p90, latency.p99, latency.max]
      return [part.stage.text, Self.percent(part.share)]
        + figures.map { Decimal.text($0, places: 1) }
    }
  }

  /// What is missing, and the longest stage.
  var remarks: [String] {
    var lines: [String] = []
    if let missing {
      let names = missing.stages.map(\.rawValue).joined(separator: ", ")
      lines.append("stages not known: \(names), because \(missing.reason)")
    }
    if leftOut > 0 {
      lines.append(
        "\(leftOut) of \(Shown.count(Int(clamping: count + leftOut), "operation")) left out, of which the"
          + " kernel's time stamps are missing or late")
    }
    if let summary { lines.append(summary) }
    return lines
  }
}

extension BenchResult.Latency {
  init(_ histogram: Histogram) {
    func microseconds(_ nanoseconds: Int64) -> Double {
      (Double(nanoseconds) / 1000).rounded(places: 2)
    }
    self.init(
      min: histogram.count > 0 ? microseconds(histogram.minimum) : 0,
      mean: (histogram.mean / 1000).rounded(places: 2),
      p50: microseconds(histogram.percentile(0.5)), p90: microseconds(histogram.percentile(0.9)),
      p99: microseconds(histogram.percentile(0.99)), max: microseconds(histogram.maximum))
  }
}

extension BenchResult {
  /// Sets where the latencies were spent, if that was measured. The limit has to be known.
  package mutating func setStages(_ measured: Measurement) {
    guard let times = measured.stages else { return }
    let interval = link?.another == true ? nil : link?.intervalMicroseconds
    stages = BenchStages(times, interval: interval)
  }

  /// The title of the table of the stages.
  package var stagesTitle: String {
    let count = Int(clamping: stages?.count ?? 0)
    return switch stagedOperation {
    case .value: "\(heading): the time of \(Shown.count(count, "value")) since their arrival"
    case .roundTrip: "\(heading): where the time of \(Shown.count(count, "round trip")) went"
    case .command: "\(heading): the time of \(Shown.count(count, "command")) until it was sent"
    }
  }

  private var stagedOperation: StagedOperation {
    switch Workload.Latency(rawValue: latencyOf) {
    case .interval: .value
    case .acceptance: .command
    case .roundTrip, .procedure, nil: .roundTrip
    }
  }

  package static let stagesHead = BenchStages.head
  package var stagesRows: [[String]]? { stages?.rows }
  package var stagesRemarks: [String] { stages?.remarks.map { "\(heading): \($0)" } ?? [] }
}
