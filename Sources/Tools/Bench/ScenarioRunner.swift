import Atto
import AttoCommandLine
import AttoEventLoop
import AttoProfileServer
import CAttoLinux

/// Runs a scenario over a carrier. Used on the loop's thread only.
///
/// # Theory
/// A run begins with `reset`. The sender numbers its values from 0 and marks the last. `receive`
/// acknowledges the last value, `pong` each. What arrives is counted where it arrives, in the call of the
/// loop; what has to be sent in return, and the ends of runs, are signals to the task of the runner.
package final class ScenarioRunner {
  /// Acknowledgements that wait to be sent; further ones are dropped.
  static let signalLimit = 4096
  /// Runs that have ended and wait to be reported; further ones are dropped, and not acknowledged.
  private static let endedLimit = 16
  /// Pings that await their answer; an older one counts as lost.
  private static let outstandingLimit = 65536
  /// How long a ping waits for its answer, and the end of the last run for the peer's.
  private static let patience: Int64 = 2_000_000_000

  private enum Signal: Sendable {
    case reply([UInt8])
    /// A run has ended, and its last value is to be acknowledged.
    case ran(LoopBound<Measurement>, [UInt8])
    case acknowledged
    case ended
    case tick
  }

  private let plan: ScenarioPlan
  private let carrier: any PacketCarrier
  private let loop: Loop
  private let signals = AsyncStream<Signal>.makeStream(
    bufferingPolicy: .bufferingOldest(signalLimit))
  private var iterator: AsyncStream<Signal>.Iterator
  package private(set) var measurement: Measurement
  private var isRunning = false
  private var hasEnded = false
  private var hasLast = false
  /// When each ping was sent, by its number; 0 when it was answered.
  private var outstanding: [Int64] = []
  private var cpuAtStart: Int64 = 0
  /// Runs that have ended and wait to be reported.
  private var endedCount = 0

  package init(_ plan: ScenarioPlan, over carrier: any PacketCarrier, on loop: Loop) {
    (self.plan, self.carrier, self.loop) = (plan, carrier, loop)
    iterator = signals.stream.makeAsyncIterator()
    measurement = Measurement(
      plan.workload, faults: plan.scenario.sends ? nil : ValueFaults())
    if plan.scenario == .ping { outstanding = [Int64](repeating: 0, count: Self.outstandingLimit) }
  }

  /// Runs the scenario to its end.
  ///
  /// - Parameter finished: called after each run.
  /// - Throws: the error of the carrier, also in the middle of a run: ``measurement`` has its results.
  package func run(finished: (Measurement) async throws -> Void) async throws {
    let runner = LoopBound(self, loop)
    try await carrier.open { [weak self] in self?.receive($0) }
    let ticking = Task(executorPreference: loop.tasks) { [loop] in
      while true {
        try await loop.sleep(for: .milliseconds(100))
        runner.value.signals.continuation.yield(.tick)
      }
    }
    defer { ticking.cancel() }
    guard plan.scenario.sends else { return try await answer(finished) }
    for run in 0...plan.repeats {
      if run > 0 { try await loop.sleep(for: plan.repeatDelay) }
      if plan.startDelay > .zero { try await loop.sleep(for: plan.startDelay) }
      try await send()
      try await finished(measurement)
    }
  }

  // MARK: Sending

  private func send() async throws {
    var workload = plan.workload
    // With a response to each value, it has the timing of writes.
    if carrier.isAcknowledged, workload.traffic == .writeCommand { workload.traffic = .write }
    measurement = Measurement(workload)
    hasLast = false
    if plan.showsStages {
      let measured = measurement
      measured.stages = try await carrier.timeStages(of: plan.staged) { measured.took($0) }
    }
    measurement.stages?.commandBegins()
    try await carrier.send(BenchPacket.reset.octets)
    measurement.begin(pdus: await carrier.pdus)
    let waited = carrier.waited
    do {
      try await sendValues()
      try await awaitLast()
    } catch {
      measurement.end(pdus: await carrier.pdus)
      throw error
    }
    measurement.end(pdus: await carrier.pdus)
    measurement.waited = Double(carrier.waited - waited) / 1e9
  }

  private func sendValues() async throws {
    var value = [UInt8](repeating: 0, count: plan.workload.size - plan.overhead)
    let start = clinux_monotonic()
    let end = plan.workload.time.map { start + $0.inNanoseconds } ?? .max
    let step = plan.workload.pace?.inNanoseconds
    var number: UInt32 = 0
    while true {
      if let step {
        let wait = start + Int64(number) * step - clinux_monotonic()
        if wait > 0 { try await loop.sleep(for: .nanoseconds(wait)) }
      }
      try Task.checkCancellation()
      let now = clinux_monotonic()
      // The last value within the time comes at most one step before its end.
      let isLast =
        plan.workload.count.map { Int(number) + 1 >= $0 } ?? false || now + (step ?? 0) >= end
      BenchPacket.fill(
        &value, number: number, isLast: isLast,
        microseconds: UInt32(truncatingIfNeeded: (now - start) / 1000))
      measurement.sent += 1
      if plan.scenario == .ping { outstanding[place(number)] = now }
      measurement.stages?.commandBegins()
      try await carrier.send(value)
      if plan.scenario == .send {
        let taken = clinux_monotonic()
        if plan.showsStages { measurement.addStages(from: now, to: taken) }
        measurement.add(octets: plan.workload.size, latency: taken - now)
      } else if step == nil {
        while outstanding[place(number)] != 0, clinux_monotonic() < now + Self.patience {
          try await next()
        }
      }
      if isLast { return }
      number &+= 1
    }
  }

  /// Waits until the peer has received the last value.
  private func awaitLast() async throws {
    let start = clinux_monotonic()
    if plan.scenario == .ping {
      while measurement.count < measurement.sent, clinux_monotonic() < start + Self.patience {
        try await next()
      }
      return
    }
    while !hasLast {
      guard clinux_monotonic() < start + plan.timeout.inNanoseconds else {
        throw Unreachable(
          message: "the peer did not acknowledge the last value",
          hint: "its scenario has to be receive; a last value that is lost is not acknowledged")
      }
      try await next()
    }
    measurement.close()
  }

  private func place(_ number: UInt32) -> Int { Int(number) % Self.outstandingLimit }

  /// Waits for the next signal.
  private func next() async throws {
    let signal = await iterator.next()
    try Task.checkCancellation()
    if case .ended? = signal { throw Unreachable(message: "the peer has disconnected") }
  }

  // MARK: Receiving

  /// Runs on the loop, where it takes the time.
  private func receive(_ octets: RawSpan?) {
    guard let octets else {
      hasEnded = true
      signals.continuation.yield(.ended)
      return
    }
    let packet = BenchPacket(octets)
    if plan.scenario.sends {
      guard case .acknowledgement(let number, let isLast, let report) = packet else { return }
      acknowledged(number, isLast, report)
    } else {
      received(packet, octets.byteCount + plan.overhead)
    }
  }

  private func acknowledged(_ number: UInt32, _ isLast: Bool, _ report: BenchPacket.Report?) {
    if plan.scenario == .ping {
      let sent = outstanding[place(number)]
      guard sent != 0 else { return }
      outstanding[place(number)] = 0
      let now = clinux_monotonic()
      if plan.showsStages {
        // Those of a late answer are not known any more.
        let isLatest = number &+ 1 == UInt32(truncatingIfNeeded: measurement.sent)
        measurement.stages?.exchange = isLatest ? carrier.exchange : nil
        measurement.addStages(from: sent, to: now)
      }
      measurement.add(octets: plan.workload.size, latency: now - sent)
    }
    if let report {
      measurement.receipt = .report(report)
      measurement.peerCPU = Double(report.cpuMicroseconds) / 1e6
    }
    if isLast { hasLast = true }
    signals.continuation.yield(.acknowledged)
  }

  private func received(_ packet: BenchPacket?, _ length: Int) {
    switch packet {
    case .reset?: begin()
    case .acknowledgement?: break
    case nil:
      if isRunning { measurement.add(octets: length) }
    case .sequence(let number, let isLast, let isChecked)?:
      if !isRunning { begin() }
      if isChecked { measurement.faults?.hasCheckSums = true }
      measurement.add(octets: length, number: number)
      guard isLast else {
        if plan.scenario == .pong {
          let reply = BenchPacket.acknowledgement(number: number, isLast: false, nil)
          signals.continuation.yield(.reply(reply.octets))
        }
        return
      }
      isRunning = false
      measurement.end(pdus: 0)
      guard endedCount < Self.endedLimit else { return }
      endedCount += 1
      let report = BenchPacket.Report(
        received: UInt32(truncatingIfNeeded: measurement.faults?.sequence.received ?? 0),
        damaged: UInt32(truncatingIfNeeded: measurement.faults?.damaged ?? 0),
        cpuMicroseconds: UInt32(
          truncatingIfNeeded: (ProcessTime.nanoseconds - cpuAtStart) / 1000))
      let reply = BenchPacket.acknowledgement(
        number: number, isLast: true, isChecked ? report : nil)
      signals.continuation.yield(.ran(LoopBound(measurement, loop), reply.octets))
    }
  }

  private func begin() {
    isRunning = true
    cpuAtStart = ProcessTime.nanoseconds
    measurement = Measurement(plan.workload, faults: ValueFaults())
    measurement.begin(pdus: 0)
  }

  /// Sends what ``received(_:_:)`` has to send, until the last run has ended.
  private func answer(_ finished: (Measurement) async throws -> Void) async throws {
    var runs = 0
    while let signal = await iterator.next() {
      try Task.checkCancellation()
      switch signal {
      case .reply(let octets): try await carrier.send(octets)
      case .ran(let measurement, let octets):
        runs += 1
        endedCount -= 1
        try await carrier.send(octets)
        try await finished(measurement.value)
        if !plan.lingers { return try await awaitEnd() }
      case .ended:
        if runs > 0, !isRunning { return }
        if isRunning { measurement.end(pdus: 0) }
        throw Unreachable(message: "the peer has disconnected before its last value")
      case .acknowledged, .tick: break
      }
    }
    try Task.checkCancellation()
  }

  /// Gives the acknowledgement time to reach the peer, which then disconnects.
  private func awaitEnd() async throws {
    let end = clinux_monotonic() + Self.patience
    while !hasEnded, clinux_monotonic() < end {
      _ = await iterator.next()
      try Task.checkCancellation()
    }
  }
}
