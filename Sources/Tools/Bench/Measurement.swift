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
  /// nil if no values with numbers are received.
  var faults: ValueFaults?
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
  var stages: StageTimes?

  /// Values that a scenario has sent.
  var sent: UInt64 = 0
  /// Seconds for which a channel had no room.
  var waited = 0.0
  /// The octets of the first value, which only begins an interval.
  private(set) var firstOctets: UInt64 = 0

  /// - Parameter faults: counts those of received values; nil if these have no numbers.
  init(_ workload: Workload, faults: ValueFaults? = nil) {
    self.workload = workload
    self.faults = faults
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

  /// An exchange was timed.
  func took(_ exchange: TimedExchange) { stages?.take(exchange, measuredFrom: start) }

  /// Adds the stages of an operation that began then and has just ended.
  func addStages(from start: Int64, to end: Int64) {
    if isMeasuring { stages?.add(from: start, to: end) }
  }

  /// Adds the stages of a value that has just come.
  func addValueStages() {
    if isMeasuring, stages != nil { stages?.addValue(to: clinux_monotonic()) }
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
    faults?.receive(number)
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
