import Atto
import AttoCommandLine
import AttoLinkTiming
import AttoText

/// The result of a test, in the form of `--json`.
package struct BenchResult: Codable, Sendable {
  struct Latency: Codable, Sendable {
    var min: Double
    var mean: Double
    var p50: Double
    var p90: Double
    var p99: Double
    var max: Double
  }

  /// What a peer with the throughput service of Nordic or ST counted.
  struct PeerMetrics: Codable, Sendable {
    /// Absent with ST's.
    var writes: UInt32?
    var octets: UInt32
    /// Of ST's, in its best second.
    var bitsPerSecond: UInt32
    /// Its rate as a multiple of this end's.
    var rateRatio: Double
  }

  /// The link under the test, and its limit.
  struct Link: Codable, Sendable {
    /// `stated` by `--link` or the endpoint, or reported by the `kernel`; absent in old results.
    var source: String?
    var phy: String?
    var intervalMicroseconds: Int64?
    var dataLength: Int?
    var parameters: String?
    /// Operations a second, and octets of values a second, at the physical limit.
    var limitPerSecond: Double?
    var limitBytesPerSecond: Double?
    var shareOfLimit: Double?
    /// True if the rate is more than these parameters allow: the link under the test has others.
    var another: Bool?
  }

  /// This result as a multiple of an earlier one.
  struct Comparison: Codable, Sendable {
    var rate: Double
    var p50: Double
    var p99: Double
    /// The other differences between the runs; absent if there are none.
    var unlike: String?
  }

  /// Of the command that measured; absent in old results.
  var version: String?
  var test: String
  /// The carrier of a scenario, `gatt` or `channel`, and the run, from 0; absent for tests.
  package var over: String?
  package var run: Int?
  var endpoint: String
  /// The value that was read, written or received, or several; absent for tests without one.
  var handle: Int?
  var handles: [Int]?
  var uuid: String?
  var mtu: Int
  /// The enhanced bearers; absent without any.
  var bearers: Int?
  /// The procedures in flight at a time, if more than one; absent in old results.
  var inFlight: Int?
  /// Octets of each value, on average.
  var size: Double
  var count: UInt64
  var seconds: Double
  package var rate: Double
  var bytesPerSecond: Double
  var latencyMicroseconds: Latency
  /// The duration that the latency measures.
  var latencyOf: String
  var jitterMicroseconds: Double
  /// CPU time of this process, for sent and received PDUs; absent without PDUs.
  var cpuMicrosecondsPerPDU: Double?
  /// CPU time of this process for an operation or value, and that of a peer that reports it.
  var cpuMicrosecondsPerOperation: Double?
  var peerCPUMicrosecondsPerOperation: Double?
  /// Absent if the values have no numbers.
  var lost: UInt64?
  var doubled: UInt64?
  var outOfOrder: UInt64?
  /// Values whose check sum was wrong; absent if they have none.
  var damaged: UInt64?
  /// The numbers of these values, where this end received them.
  var faults: ValueFaults.Names?
  var peerMetrics: PeerMetrics?
  /// `receiver`, or `sender` where the peer does not count.
  var countedAt: String
  var link: Link?
  var limitedBy: BenchLimit?
  /// With `--stages`: where the latencies were spent.
  var stages: BenchStages?
  /// For charts; absent in old results. Of values that this end does not see arrive, one step with the
  /// receiver's mean.
  var rateOverTime: [RateOverTime.Step]?
  var latencyHistogram: [Histogram.Bin]?
  /// Whether the test was interrupted by `error`.
  var partial: Bool
  var error: String?
  var compared: Comparison?

  /// One or several.
  var allHandles: [Int] { handles ?? handle.map { [$0] } ?? [] }

  /// The test, with its carrier.
  package var title: String { test + (over.map { " over \($0)" } ?? "") }

  /// The same, with the number of a repeated run.
  var heading: String { title + (run.map { $0 > 0 ? ", run \($0)" : "" } ?? "") }

  package init(_ measured: Measurement, endpoint: String, mtu: Int, error: String?) {
    version = Version.number
    test = measured.workload.name
    over = measured.workload.carrier?.rawValue
    self.endpoint = endpoint
    self.mtu = mtu
    let handles = measured.handles.map { Shown.json($0) }
    if handles.count > 1 { self.handles = handles } else { handle = handles.first }
    uuid = measured.uuid.map { Shown.json($0) }
    bearers = measured.enhanced?.bearers
    inFlight = measured.inFlight > 1 ? measured.inFlight : nil
    let arrivals = Arrivals(measured, isComplete: error == nil)
    countedAt = arrivals.counter.rawValue
    (lost, doubled, outOfOrder) = (arrivals.lost, arrivals.doubled, arrivals.outOfOrder)
    (damaged, faults, peerMetrics) = (arrivals.damaged, arrivals.faults, arrivals.peerMetrics)
    let (count, octets) = (arrivals.count, arrivals.octets)
    let seconds = arrivals.nanoseconds / 1e9
    self.count = count
    self.seconds = seconds.rounded(places: 6)
    size = count > 0 ? (Double(octets) / Double(count)).rounded(places: 2) : 0
    rate = seconds > 0 ? (Double(count) / seconds).rounded(places: 3) : 0
    bytesPerSecond = seconds > 0 ? (Double(octets) / seconds).rounded(places: 1) : 0
    latencyMicroseconds = Latency(measured.latencies)
    latencyOf = measured.workload.latency.rawValue
    jitterMicroseconds = (measured.jitter / 1000).rounded(places: 2)
    if measured.pdus > 0 {
      cpuMicrosecondsPerPDU = (measured.cpu * 1e6 / Double(measured.pdus)).rounded(places: 3)
    }
    if count > 0, measured.window > 0 {
      func perOperation(_ seconds: Double) -> Double {
        (seconds * 1e6 / Double(count)).rounded(places: 3)
      }
      cpuMicrosecondsPerOperation = perOperation(measured.cpu)
      peerCPUMicrosecondsPerOperation = measured.peerCPU.map(perOperation)
    }
    if let metrics = peerMetrics, bytesPerSecond > 0 {
      let ratio = Double(metrics.bitsPerSecond) / 8 / bytesPerSecond
      peerMetrics?.rateRatio = ratio.rounded(places: 4)
    }
    rateOverTime = measured.receivedSteps(rate: rate, seconds: seconds) ?? measured.rates.steps
    latencyHistogram = measured.latencies.bins
    partial = error != nil
    self.error = error
  }

  /// Sets the link, the share of its limit that was reached, and what limits the measurement.
  package mutating func setLimit(_ measured: Measurement, over link: MeasuredLink?) async {
    let workload = measured.workload
    let parameters = link?.parameters(for: workload)
    if let link {
      self.link = Link(
        source: link.source, phy: parameters?.phy.name ?? link.phyText,
        intervalMicroseconds: parameters.map { $0.interval / 1000 },
        dataLength: parameters?.dataLength, parameters: parameters?.description)
    }
    guard count > 0, measured.window > 0 else { return }
    var figures = BenchLimit.Figures(
      workload: workload, rate: rate, size: size, seconds: seconds, mtu: mtu,
      cpu: measured.cpu / measured.window, peerCPU: measured.peerCPU.map { $0 / measured.window },
      inFlight: measured.inFlight, enhanced: measured.enhanced, link: parameters,
      isCountedBySender: isCountedBySender)
    if workload.latency == .procedure {
      figures.requests = Double(measured.pdus) / 2 / Double(count)
    }
    if figures.isChannel {
      figures.waiting = measured.waited / measured.window
    } else if workload.latency == .acceptance {
      let time = measured.latencies.mean * Double(measured.count) / 1e9
      figures.waiting = time / Double(measured.inFlight) / measured.window - figures.cpu
    }
    // Off the loop, because the model takes some time.
    let known = figures
    let share = await Task.detached { LinkShare(known) }.value
    let isAnother = share?.isExceeded == true && link?.isCertain == false
    if isAnother { figures.link = nil }
    let (used, reached) = (figures, isAnother ? nil : share)
    limitedBy = await Task.detached { BenchLimit(used, reached) }.value
    if isAnother { self.link?.another = true }
    guard let reached else { return }
    self.link?.limitPerSecond = reached.limit.rounded(places: 3)
    self.link?.shareOfLimit = reached.share
    if size > 0 {
      self.link?.limitBytesPerSecond = (reached.limit * size).rounded(places: 1)
    }
  }

  /// Whether values count when this end has queued them.
  var isCountedBySender: Bool {
    over == nil && latencyOf == Workload.Latency.acceptance.rawValue && countedAt == "sender"
  }

  package mutating func compare(with earlier: BenchResult) {
    func ratio(_ new: Double, _ old: Double) -> Double {
      old >= 0.001 ? (new / old).rounded(places: 4) : 0
    }
    var unlike: [String] = []
    if earlier.mtu != mtu { unlike.append("MTU \(earlier.mtu)") }
    if earlier.size != size { unlike.append("\(Decimal.text(earlier.size, places: 0)) octets") }
    if earlier.endpoint != endpoint { unlike.append(earlier.endpoint) }
    if let value = earlier.valueText, value != valueText { unlike.append(value) }
    if earlier.bearers != bearers {
      unlike.append(Shown.count(earlier.bearers ?? 0, "enhanced bearer"))
    }
    if earlier.inFlight != inFlight { unlike.append("\(earlier.inFlight ?? 1) in flight") }
    if earlier.partial { unlike.append("partial") }
    compared = Comparison(
      rate: ratio(rate, earlier.rate),
      p50: ratio(latencyMicroseconds.p50, earlier.latencyMicroseconds.p50),
      p99: ratio(latencyMicroseconds.p99, earlier.latencyMicroseconds.p99),
      unlike: unlike.isEmpty ? nil : unlike.joined(separator: ", "))
  }

  /// Reads the output of `--json`: one object per line.
  ///
  /// - Throws: `FileError` with the line that is wrong.
  package static func reading(_ path: String, on loop: Loop) async throws -> [BenchResult] {
    let data: [UInt8]
    do {
      data = try await InputFile(path: path, on: loop).rest()
    } catch let error as FileError {
      throw FileError(message: error.message, hint: "give the output of atto bench --json")
    }
    var results: [BenchResult] = []
    for (index, line) in data.split(separator: 0x0A, omittingEmptySubsequences: false).enumerated()
    where !line.isEmpty {
      guard let result = try? JSONParser.parse(Array(line)).decode(BenchResult.self),
        result.isPlausible
      else {
        throw FileError(message: "\(path):\(index + 1): not a result of atto bench --json")
      }
      results.append(result)
    }
    guard !results.isEmpty else { throw FileError(message: "\(path): no results") }
    return results
  }

  /// Whether the figures can be those of a measurement. A file may hold anything.
  private var isPlausible: Bool {
    let (latency, steps, bins) = (latencyMicroseconds, rateOverTime ?? [], latencyHistogram ?? [])
    let figures = [
      seconds, rate, bytesPerSecond, latency.min, latency.mean, latency.p50, latency.p90,
      latency.p99, latency.max, jitterMicroseconds, cpuMicrosecondsPerPDU ?? 0,
      cpuMicrosecondsPerOperation ?? 0, peerCPUMicrosecondsPerOperation ?? 0,
    ]
    return (0...65535).contains(size) && uuid.map { BluetoothUUID($0) != nil } != false
      && allHandles.allSatisfy { (1...65535).contains($0) } && allHandles.count <= 64
      && stages?.isPlausible != false
      && (figures + bins.map(\.microseconds)).allSatisfy { (0...1e12).contains($0) }
      && steps.flatMap { [$0.seconds, $0.rate] }.allSatisfy { (0...1e9).contains($0) }
      && steps.count <= RateOverTime.stepLimit && bins.count <= 2000
  }
}
