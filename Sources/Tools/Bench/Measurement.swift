import Atto
import AttoCommandLine
import AttoFormats
import AttoLinkTiming
import AttoProfileServer
import CAttoLinux

/// The counters of a test, of constant size. Used on the loop's thread only.
package final class Measurement {
  package let workload: Workload
  private(set) var latencies = Histogram()
  private(set) var rates = RateOverTime()
  /// nil if the values have no numbers.
  private(set) var faults: ValueFaults?
  private(set) var octets: UInt64 = 0
  /// Nanoseconds of CLOCK_MONOTONIC.
  package private(set) var start: Int64 = 0
  private(set) var last: Int64 = 0
  /// False during the warm-up and after the end.
  private(set) var isMeasuring = false
  /// The values that arrived in the warm-up.
  package private(set) var countInWarmUp: UInt64 = 0
  private var latency: Int64?
  /// Whether the value has arrived from which the first interval is measured.
  package private(set) var hasFirstValue = false
  private var jitterSum = 0.0
  private var cpuBefore: Int64 = 0
  private var began: Int64 = 0
  private var pdusBefore: UInt64 = 0
  /// Seconds of CPU time of this process, and the time in which it spent them.
  private(set) var cpu = 0.0
  private(set) var window = 0.0
  /// Seconds of the peer's CPU time, if it reports them.
  var peerCPU: Double?
  private(set) var pdus: UInt64 = 0
  /// The values that the test uses, and their type; none for procedures without a value.
  var handles: [AttributeHandle] = []
  var uuid: BluetoothUUID?
  /// What the peer counted, if it is the receiver and reports it.
  var receipt: Receipt?

  /// The procedures in flight at a time.
  var inFlight = 1
  /// The enhanced bearers that carry them; nil without any.
  package var enhanced: EnhancedTraffic?

  /// Where the latencies were spent; nil without `--stages`.
  private(set) var stages: StageTimes?
  /// The times of the last exchange on the bearer.
  var exchange: TimedExchange?
  /// Whether commands are reported when they are completed.
  private var timesCommands = false
  /// When commands were begun that are not reported yet, oldest first.
  private var commands: [Int64] = []

  /// Values that a scenario has sent.
  var sent: UInt64 = 0
  /// Seconds for which a channel had no room.
  var waited = 0.0
  /// Whether the values have check sums.
  var hasCheckSums = false
  /// After so many numbers of values they begin again; nil: after 2^32.
  var modulus: UInt32?
  private var lastNumber: Int64?
  /// The octets of the first value, which only begins an interval.
  private(set) var firstOctets: UInt64 = 0

  /// The counters of a receiver.
  enum Receipt {
    case tally(WriteTally)
    /// Of Nordic's throughput service.
    case metrics(ThroughputMetrics)
    /// The octets that ST's throughput application has counted, and those of its best second.
    case seconds(octets: UInt64, best: UInt32)
    /// Of a scenario's run.
    case report(BenchPacket.Report)
  }

  /// The mean rate at the receiver of values that this end only sends; nil if it does not report it, or
  /// reports what cannot be. The times of their acceptance are those of queues.
  ///
  /// - Parameters:
  ///   - rate: of the result, in its seconds.
  func receivedSteps(rate: Double, seconds: Double) -> [RateOverTime.Step]? {
    guard workload.latency == .acceptance else { return nil }
    let (count, time): (Double, Double)
    switch receipt {
    case .tally: (count, time) = (rate * seconds, seconds)
    case .report(let report): (count, time) = (Double(report.received), seconds)
    case .metrics(let metrics):
      (count, time) = (
        Double(metrics.writes), Double(metrics.octets) * 8 / Double(metrics.bitsPerSecond)
      )
    case .seconds, nil: return nil
    }
    guard (1e-6...1e9).contains(time), (0...1e9).contains(count / time) else { return nil }
    return [
      RateOverTime.Step(
        seconds: time.rounded(places: 6), rate: (count / time).rounded(places: 3))
    ]
  }

  /// The number of a value that is not said whole: the nearest to those before it.
  private func lifted(_ number: UInt32) -> UInt32 {
    guard let modulus = modulus.map(Int64.init) else { return number }
    guard let last = lastNumber else {
      lastNumber = Int64(number)
      return number
    }
    var ahead = ((Int64(number) - last) % modulus + modulus) % modulus
    if ahead > modulus / 2 { ahead -= modulus }
    lastNumber = max(last, last + ahead)
    return UInt32(truncatingIfNeeded: last + ahead)
  }

  package init(_ workload: Workload, isNumbered: Bool) {
    self.workload = workload
    if isNumbered { faults = ValueFaults() }
  }

  package var count: UInt64 { latencies.count }
  /// Nanoseconds from the start, or from the first value, to the last operation.
  var elapsed: Int64 { max(0, last - start) }
  /// The mean difference between consecutive latencies, in nanoseconds.
  var jitter: Double { count > 1 ? jitterSum / Double(count - 1) : 0 }

  /// Starts to measure, after the warm-up.
  func begin(pdus: UInt64) {
    start = clinux_monotonic()
    last = start
    isMeasuring = true
    began = start
    cpuBefore = ProcessTime.nanoseconds
    pdusBefore = pdus
  }

  /// Ends the time of the last operation now.
  func close() { last = clinux_monotonic() }

  func end(pdus: UInt64) {
    guard isMeasuring else { return }
    isMeasuring = false
    cpu = Double(ProcessTime.nanoseconds - cpuBefore) / 1e9
    window = Double(clinux_monotonic() - began) / 1e9
    self.pdus = pdus - pdusBefore
  }

  /// Has stages measured from now on.
  func setStages(_ stages: StageTimes?) {
    self.stages = stages
    timesCommands = stages?.operation == .command && stages?.stages.contains(.controller) == true
  }

  /// Whether commands are not completed yet.
  var awaitsCommands: Bool { !commands.isEmpty }

  /// A command is about to be sent.
  func sends() { if timesCommands { commands.append(clinux_monotonic()) } }

  /// An exchange was timed.
  func took(_ exchange: TimedExchange) {
    guard case .command(let sent) = exchange else { return self.exchange = exchange }
    // In the order of sending, from the first one. Many are completed after the last was accepted.
    guard !commands.isEmpty else { return }
    let begun = commands.removeFirst()
    if start > 0, begun >= start { stages?.add(command: sent, from: begun) }
  }

  /// Adds the stages of an operation that began then and has just ended.
  func addStages(from start: Int64, to end: Int64) {
    guard isMeasuring, !timesCommands else { return }
    if stages?.operation == .command {
      stages?.add(commandFrom: start, to: end)
    } else {
      stages?.add(exchange, from: start, to: end)
    }
    exchange = nil
  }

  /// Adds the stages of a value that has just come.
  func addValueStages() {
    guard isMeasuring, stages != nil else { return }
    stages?.add(value: exchange, to: clinux_monotonic())
  }

  /// Adds an operation or a received value. The first value only begins the first interval.
  ///
  /// - Parameters:
  ///   - latency: nanoseconds; nil for the time since the previous value.
  ///   - number: of a numbered value; nil if it is damaged.
  func add(octets count: Int, latency: Int64? = nil, number: UInt32? = nil) {
    guard isMeasuring else {
      if start == 0 { countInWarmUp += 1 }
      return
    }
    let now = clinux_monotonic()
    faults?.receive(number.map { lifted($0) })
    guard latency != nil || hasFirstValue else {
      (hasFirstValue, start, last, firstOctets) = (true, now, now, UInt64(count))
      return
    }
    let time = latency ?? (now - last)
    if let before = self.latency { jitterSum += Double(abs(time - before)) }
    self.latency = time
    latencies.add(time)
    octets += UInt64(count)
    last = now
    rates.add(at: now - start)
  }
}
