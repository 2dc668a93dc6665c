import AttoFormats
import AttoProfileServer

/// What a receiver reports at the end of a test.
enum Receipt {
  case tally(WriteTally)
  /// Of Nordic's throughput service.
  case metrics(ThroughputMetrics)
  /// The octets that ST's throughput application has counted, and those of its best second.
  case seconds(octets: UInt64, best: UInt32)
  /// Of a scenario's run.
  case report(BenchPacket.Report)
}

/// The operations or values of a test that count.
///
/// # Theory
/// The end that receives values knows what arrived: this one by the numbers of the values, the peer by what
/// it reports (``Receipt``). Without a report, those that this end has sent count. A receiver's time begins
/// with a value, so it covers n - 1 gaps between n values.
struct Arrivals {
  /// The end that counted.
  enum Counter: String { case receiver, sender }

  var count: UInt64
  var octets: UInt64
  /// The time that they took.
  var nanoseconds: Double
  var counter = Counter.receiver
  /// nil for each of these if nobody knows.
  var lost: UInt64?
  var doubled: UInt64?
  var outOfOrder: UInt64?
  var damaged: UInt64?
  var faults: ValueFaults.Names?
  var peerMetrics: BenchResult.PeerMetrics?

  /// - Parameter isComplete: whether the test was not interrupted.
  init(_ measured: Measurement, isComplete: Bool) {
    count = measured.count
    octets = measured.octets
    nanoseconds = Double(measured.elapsed)
    let workload = measured.workload
    switch (measured.receipt, workload.sender) {
    case (let receipt?, _): take(receipt, of: measured)
    case (nil, .peer):
      guard let found = measured.faults else { break }
      (lost, doubled) = (found.sequence.lost, found.sequence.doubled)
      (outOfOrder, faults) = (found.sequence.outOfOrder, found.names)
      if found.hasCheckSums || found.damaged > 0 { damaged = found.damaged }
      // A run of a scenario begins with its first value.
      if workload.carrier != nil, measured.hasFirstValue {
        nanoseconds *= Double(count + 1) / Double(max(1, count))
        (count, octets) = (count + 1, octets + measured.firstOctets)
      }
    case (nil, .here) where workload.latency == .acceptance: counter = .sender
    case (nil, .here) where workload.carrier == nil:
      counter = .sender
      if isComplete { lost = 0 }
    case (nil, _): lost = measured.sent - min(measured.sent, count)
    }
  }

  private mutating func take(_ receipt: Receipt, of measured: Measurement) {
    switch receipt {
    case .tally(let tally):
      lost = count > tally.writes ? count - tally.writes : tally.lost
      (doubled, outOfOrder, damaged) = (tally.doubled, tally.outOfOrder, tally.damaged)
      (count, octets) = (tally.writes, tally.octets)
      if measured.workload.latency == .acceptance, count > 1 {
        nanoseconds = Double(tally.microseconds) * 1000 * Double(count) / Double(count - 1)
      }
    case .metrics(let metrics):
      counter = .sender
      // Their numbers wrap at 2^32, and so is the difference.
      lost = UInt64(UInt32(truncatingIfNeeded: count) &- metrics.writes)
      peerMetrics = BenchResult.PeerMetrics(
        writes: metrics.writes, octets: metrics.octets, bitsPerSecond: metrics.bitsPerSecond,
        rateRatio: 0)
    case .seconds(let received, let best):
      counter = .sender
      // Without any, the peer does not report them.
      guard received > 0 else { break }
      let missing = octets - min(octets, received)
      let size = max(1, octets / max(1, count))
      lost = (missing + size - 1) / size
      peerMetrics = BenchResult.PeerMetrics(
        writes: nil, octets: UInt32(clamping: received),
        bitsPerSecond: UInt32(clamping: UInt64(best) * 8), rateRatio: 0)
    case .report(let report):
      damaged = UInt64(report.damaged)
      let arrived = report.received &+ report.damaged
      lost = UInt64(max(0, Int64(measured.sent) - Int64(arrived)))
    }
  }
}

extension Measurement {
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
}
