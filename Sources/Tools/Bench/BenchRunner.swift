import Atto
import AttoCommandLine
import AttoEventLoop
import AttoFormats
import AttoGATT
import AttoLinkTiming
import CAttoLinux

/// Runs one test over a connection. ``measurement`` has the results, also after an error. Used on the
/// loop's thread only.
package final class BenchRunner {
  private let test: BenchTest
  private let connection: Connection
  private let plan: BenchPlan
  private let target: BenchTarget?
  private let loop: Loop
  package let measurement: Measurement
  /// Operations that have begun.
  private var started = 0

  package init(
    _ test: BenchTest, _ plan: BenchPlan, over connection: Connection, at target: BenchTarget?,
    on loop: Loop
  ) {
    self.test = test
    self.connection = connection
    self.plan = plan
    self.target = target
    self.loop = loop
    let workload = plan.workload(test)
    var faults: ValueFaults?
    if workload.sender == .peer, let numbering = target?.numbering {
      faults = ValueFaults(modulus: numbering.modulus)
      faults?.hasCheckSums = true
    }
    measurement = Measurement(workload, faults: faults)
    if let target { (measurement.handles, measurement.uuid) = ([target.handle], target.uuid) }
  }

  /// - Throws: the error of the connection or the peer, `cancelled`, and `UsageError` for a size that
  ///   the MTU does not allow.
  package func run() async throws {
    let handle = target?.handle ?? .invalid
    let mtu = try await connection.mtu
    let hasSize = measurement.workload.sender != nil
    guard !hasSize || plan.size <= 512 else {
      throw UsageError("values have at most 512 octets, without --scenario: --size")
    }
    guard !hasSize || plan.size <= mtu - 3 else {
      throw UsageError(
        "values of \(plan.size) octets require an MTU of \(plan.size + 3), but it is \(mtu)",
        hint: "add --mtu \(plan.size + 3), or use a smaller --size")
    }
    try await setBearers(mtu)
    try await timeStages()
    let connection = connection
    switch test {
    case .read: try await repeated { _ in try await connection.readOnce(handle).count }
    case .longRead: try await repeated { _ in try await connection.readLong(handle).count }
    case .ping:
      let ping = Ping(range: try await connection.perform(Ping()))
      try await repeated { _ in
        _ = try await connection.perform(ping)
        return 0
      }
    case .discover:
      try await repeated { _ in
        _ = try await connection.discover()
        return 0
      }
    case .write:
      try await writes { try await connection.write($0, to: $1) }
    case .writeCommand:
      try await writes { try await connection.writeWithoutResponse($0, to: $1) }
    case .notify: try await values(.notification)
    case .indicate: try await values(.indication)
    }
  }

  /// Notes the enhanced bearers that procedures use, and how many procedures there are at a time.
  private func setBearers(_ mtu: Int) async throws {
    let enhanced = try await connection.bearers.filter { $0.number > 0 && $0.mtu >= mtu }
    if measurement.workload.sender != .peer {
      measurement.inFlight = plan.inFlight ?? max(1, enhanced.count)
    }
    guard let least = enhanced.map(\.mtu).min() else { return }
    measurement.enhanced = EnhancedTraffic(
      bearers: enhanced.count, inFlight: measurement.inFlight, mtu: least)
  }

  /// Has the stages of each latency measured, with `--stages`. They end with the connection, or at the next
  /// test.
  private func timeStages() async throws {
    guard plan.showsStages, let operation = test.staged else {
      if plan.showsStages { try await connection.timeExchanges(nil) }
      return
    }
    guard measurement.inFlight == 1, measurement.enhanced == nil else {
      throw UsageError(
        "--stages requires a single procedure in flight, without enhanced bearers",
        hint: "leave out --bearers and --in-flight")
    }
    let bound = LoopBound(measurement, loop)
    measurement.stages = try await connection.timeStages(of: operation) { bound.value.took($0) }
  }

  /// Repeats an operation and measures each run.
  ///
  /// - Parameters:
  ///   - prepare: runs after the warm-up.
  ///   - body: the operation, with its number among those in flight; returns the number of octets
  ///     transferred.
  private func repeated(
    after prepare: () async throws -> Void = {},
    _ body: @escaping @Sendable (Int) async throws -> Int
  ) async throws {
    let warm = clinux_monotonic() + plan.warmUp.inNanoseconds
    try await together { number in
      while clinux_monotonic() < warm { _ = try await body(number) }
    }
    try await prepare()
    let peerTime = try await peerProcessTime
    measurement.begin(pdus: try await pdus)
    let runner = LoopBound(self, loop)
    do {
      try await together { number in
        try await runner.value.measure { try await body(number) }
      }
    } catch {
      measurement.end(pdus: (try? await pdus) ?? 0)
      // The enhanced bearers end before the connection.
      if case AttoError.enhancedBearer = error, let reason = await connection.endReason {
        throw reason
      }
      throw error
    }
    measurement.end(pdus: try await pdus)
    try await endPeerProcessTime(since: peerTime)
  }

  /// Runs a function for each of the procedures in flight.
  private func together(_ body: @escaping @Sendable (Int) async throws -> Void) async throws {
    guard measurement.inFlight > 1 else { return try await body(0) }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<measurement.inFlight {
        group.addTask(executorPreference: loop.tasks) { try await body(number) }
      }
      // The first error ends the others.
      while try await group.next() != nil {}
    }
  }

  /// Repeats an operation until the time is over, or as many have begun as are wanted.
  private func measure(_ body: () async throws -> Int) async throws {
    let end = plan.time.map { measurement.start + $0.inNanoseconds } ?? .max
    var before = clinux_monotonic()
    while started < plan.count ?? .max, before < end {
      started += 1
      let octets = try await body()
      let now = clinux_monotonic()
      measurement.addStages(from: before, to: now)
      measurement.add(octets: octets, latency: now - before)
      before = clinux_monotonic()
      try Task.checkCancellation()
    }
  }

  /// The CPU time of a peer that reports it, in microseconds.
  private var peerProcessTime: UInt64? {
    get async throws {
      guard let handle = target?.processTime else { return nil }
      let value = try await connection.readOnce(handle)
      return value.count == 8 ? value.reversed().reduce(0) { $0 << 8 | UInt64($1) } : nil
    }
  }

  private func endPeerProcessTime(since before: UInt64?) async throws {
    guard let before, let now = try await peerProcessTime, now >= before else { return }
    measurement.peerCPU = Double(now - before) / 1e6
  }

  /// A value to write, with the number of the next write. Used on the loop's thread only.
  private final class Sink {
    let handle: AttributeHandle
    var number: UInt32 = 0
    private let numbering: ValueNumbering
    private var value: [UInt8]

    init(_ handle: AttributeHandle, size: Int, _ numbering: ValueNumbering) {
      (self.handle, self.numbering) = (handle, numbering)
      value = numbering.value(0, size: size)
    }

    var nextValue: [UInt8] {
      numbering.set(number, of: &value)
      number &+= 1
      return value
    }
  }

  /// Writes numbered values, which atto serve with bench.json and Nordic's throughput service count.
  private func writes(
    _ write: @escaping @Sendable ([UInt8], AttributeHandle) async throws -> Void
  ) async throws {
    guard let target else { return }
    let size = plan.size
    let sinks = target.sinks.prefix(measurement.inFlight).map {
      Sink($0, size: size, target.numbering ?? .checked)
    }
    measurement.handles = sinks.map(\.handle)
    let bound = LoopBound((sinks: sinks, measurement: measurement), loop)
    let seconds = target.seconds.map { PeerSeconds($0, over: connection, on: loop) }
    defer { if seconds != nil { connection.observeValues(nil) } }
    try await seconds?.begin()
    try await repeated(
      after: {
        try await seconds?.settle(sinks.reduce(0) { $0 + UInt64($1.number) * UInt64(size) })
        seconds?.reset()
        for sink in sinks {
          sink.number = 0
          if target.isBench { try await connection.write([], to: sink.handle) }
          if target.isThroughput {
            try await connection.writeWithoutResponse([0], to: sink.handle)
          }
        }
      }
    ) { number in
      let (sinks, measurement) = bound.value
      let sink = sinks[number % sinks.count]
      measurement.stages?.commandBegins()
      try await write(sink.nextValue, sink.handle)
      return size
    }
    // At most two seconds, for what is in the queues.
    for _ in 0..<200 where measurement.stages?.awaitsCommands == true {
      try await loop.sleep(for: .milliseconds(10))
    }
    if let seconds {
      try await seconds.settle(measurement.octets)
      await seconds.end()
      measurement.receipt = .seconds(octets: seconds.octets, best: seconds.best)
    }
    if target.isThroughput {
      let value = try await connection.readLong(target.handle)
      measurement.receipt = ThroughputMetrics(value: value).map { .metrics($0) }
    }
    guard target.isBench else { return }
    // The responses arrive after all writes were counted.
    var tally = WriteTally()
    for sink in sinks {
      guard let other = WriteTally(value: try await connection.readLong(sink.handle)) else {
        return
      }
      tally.add(other)
    }
    measurement.receipt = .tally(tally)
  }

  /// Measures values that the peer sends.
  private func values(_ kind: ClientCharacteristicConfiguration) async throws {
    guard let target, let configuration = target.configuration else { return }
    let connection = connection
    if target.isBench {
      let size = UInt16(plan.size)
      try await connection.write(
        [UInt8(truncatingIfNeeded: size), UInt8(size >> 8)], to: target.handle)
    }
    let done = AsyncStream<Void>.makeStream()
    let measurement = LoopBound(measurement, loop)
    let limit = plan.count ?? .max
    connection.observeValues { handle, value in
      guard handle == target.handle else { return }
      let number = target.numbering?.number(of: value)
      guard measurement.value.count < limit else { return }
      measurement.value.addValueStages()
      measurement.value.add(octets: value.byteCount, number: number)
      if measurement.value.count >= limit { done.continuation.finish() }
    }
    defer { connection.observeValues(nil) }
    let loop = loop
    let watching = Task(executorPreference: loop.tasks) {
      try await connection.waitUntilClosed()
      done.continuation.finish()
    }
    defer { watching.cancel() }
    // Without a warm-up, values count that follow the response to the subscription at once.
    let hasWarmUp = plan.warmUp > .zero
    var peerTime = hasWarmUp ? nil : try await peerProcessTime
    if !hasWarmUp { measurement.value.begin(pdus: try await pdus) }
    try await connection.write(kind.octets, to: configuration)
    if let transmission = target.transmission {
      try await connection.writeWithoutResponse([1], to: transmission)
    }
    if hasWarmUp {
      try await loop.sleep(for: plan.warmUp)
      peerTime = try await peerProcessTime
      measurement.value.begin(pdus: try await pdus)
    }
    let alarm = loop.after(plan.time) { done.continuation.finish() }
    defer { alarm.cancel() }
    for await _ in done.stream {}
    measurement.value.end(pdus: (try? await pdus) ?? 0)
    if let reason = await connection.endReason { throw reason }
    try await endPeerProcessTime(since: peerTime)
    if let transmission = target.transmission {
      try? await connection.writeWithoutResponse([0], to: transmission)
    }
    try? await connection.unsubscribe(cccd: configuration)
    try Task.checkCancellation()
  }

  /// The failure of a test that measured nothing, because values did not come.
  package var noValues: CheckFailure? {
    guard measurement.count == 0 else { return nil }
    let count = measurement.hasFirstValue ? "only one value" : "no values"
    let message = "\(test.rawValue): the peer sent \(count) of \(target?.handle ?? .invalid)"
    let early = measurement.countInWarmUp
    guard early == 0 else {
      return CheckFailure(
        message: "\(message) after the warm-up, in which it sent \(early)",
        hint: "--warm-up 0 measures from the first value")
    }
    if target?.numbering == .st {
      return CheckFailure(
        message: message,
        hint: "ST's application sends while its first button (SW1, B1) has been pressed")
    }
    return CheckFailure(
      message: message,
      hint: "the peer has to send values by itself, as atto serve Fixtures/bench.json does")
  }

  /// PDUs in both directions so far.
  private var pdus: UInt64 {
    get async throws {
      let counters = try await connection.counters
      return counters.sent + counters.received
    }
  }
}
