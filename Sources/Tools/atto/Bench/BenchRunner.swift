import Atto
import AttoATT
import AttoEventLoop
import AttoFormats
import AttoGATT
import CAttoLinux

/// Runs one test over a connection. ``measurement`` has the results, also after an error. Used on the
/// loop's thread only.
final class BenchRunner {
  private let connection: Connection
  private let plan: BenchPlan
  private let target: BenchTarget?
  private let loop: Loop
  let measurement: Measurement
  private var number: UInt32 = 0

  init(
    _ test: BenchTest, _ plan: BenchPlan, over connection: Connection, at target: BenchTarget?,
    on loop: Loop
  ) {
    self.connection = connection
    self.plan = plan
    self.target = target
    self.loop = loop
    let isNumbered = test.isFromPeer && target?.isBench == true
    measurement = Measurement(test, size: plan.size, isNumbered: isNumbered)
  }

  /// - Throws: the error of the connection or the peer, `cancelled`, and `UsageError` for a size that
  ///   the MTU does not allow.
  func run() async throws {
    let handle = target?.handle ?? .invalid
    let mtu = try await connection.mtu
    let hasSize = measurement.test.isWritten || measurement.test.isFromPeer
    guard !hasSize || plan.size <= 512 else {
      throw UsageError("values have at most 512 octets, without --scenario: --size")
    }
    guard !hasSize || plan.size <= mtu - 3 else {
      throw UsageError(
        "values of \(plan.size) octets require an MTU of \(plan.size + 3), but it is \(mtu)",
        hint: "add --mtu \(plan.size + 3), or use a smaller --size")
    }
    let connection = connection
    switch measurement.test {
    case .read: try await repeated { try await connection.read(handle).count }
    case .longRead: try await repeated { try await connection.readLong(handle).count }
    case .ping:
      try await repeated {
        do throws(AttoError) {
          try await connection.perform(Ping())
        } catch {
          guard case .refused = error else { throw error }
        }
        return 0
      }
    case .discover:
      try await repeated {
        _ = try await connection.discover()
        return 0
      }
    case .write:
      try await writes { try await connection.write($0, to: handle) }
    case .writeCommand:
      try await writes { try await connection.writeWithoutResponse($0, to: handle) }
    case .notify: try await values(.notification)
    case .indicate: try await values(.indication)
    case .send, .receive, .exchange, .pong: preconditionFailure("a scenario")
    }
  }

  /// Repeats an operation and measures each run.
  ///
  /// - Parameters:
  ///   - prepare: runs after the warm-up.
  ///   - body: the operation; returns the number of octets transferred.
  private func repeated(
    after prepare: () async throws -> Void = {}, _ body: () async throws -> Int
  ) async throws {
    let warm = clinux_monotonic() + plan.warmUp.nanoseconds
    while clinux_monotonic() < warm { _ = try await body() }
    try await prepare()
    let peerTime = try await peerProcessTime
    measurement.begin(pdus: try await pdus)
    do {
      let end = plan.time.map { clinux_monotonic() + $0.nanoseconds } ?? .max
      var before = clinux_monotonic()
      while measurement.count < plan.count ?? .max, before < end {
        let octets = try await body()
        let now = clinux_monotonic()
        measurement.add(octets: octets, latency: now - before)
        before = clinux_monotonic()
        try Task.checkCancellation()
      }
    } catch {
      measurement.end(pdus: (try? await pdus) ?? 0)
      throw error
    }
    measurement.end(pdus: try await pdus)
    try await endPeerProcessTime(since: peerTime)
  }

  /// The CPU time of a peer that reports it, in microseconds.
  private var peerProcessTime: UInt64? {
    get async throws {
      guard let handle = target?.processTime else { return nil }
      let value = try await connection.read(handle)
      return value.count == 8 ? value.reversed().reduce(0) { $0 << 8 | UInt64($1) } : nil
    }
  }

  private func endPeerProcessTime(since before: UInt64?) async throws {
    guard let before, let now = try await peerProcessTime, now >= before else { return }
    measurement.peerCPU = Double(now - before) / 1e6
  }

  /// Writes numbered values, which atto serve with bench.json and Nordic's throughput service count.
  private func writes(_ write: @escaping ([UInt8]) async throws -> Void) async throws {
    var value = Profile.Burst.value(0, size: plan.size)
    let size = plan.size
    let handle = target?.handle ?? .invalid
    let counts = target?.isBench == true
    let isThroughput = target?.isThroughput == true
    try await repeated(
      after: {
        number = 0
        if counts { try await connection.write([], to: handle) }
        if isThroughput { try await connection.writeWithoutResponse([0], to: handle) }
      }
    ) {
      for index in 0..<4 { value[index] = UInt8(truncatingIfNeeded: number >> (8 * index)) }
      number &+= 1
      CheckSum.complete(&value)
      try await write(value)
      return size
    }
    if isThroughput {
      measurement.metrics = ThroughputMetrics(value: try await connection.readLong(handle))
    }
    guard counts else { return }
    // The response arrives after all writes were counted.
    measurement.tally = WriteTally(value: try await connection.readLong(handle))
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
      var number: UInt32?
      if target.isBench, value.byteCount >= 4, CheckSum.isCorrect(value) {
        number = (0..<4).reduce(0) {
          $0 | UInt32(value.unsafeLoad(fromByteOffset: $1, as: UInt8.self)) << (8 * UInt32($1))
        }
      }
      guard measurement.value.count < limit else { return }
      measurement.value.add(octets: value.byteCount, number: number)
      if measurement.value.count >= limit { done.continuation.finish() }
    }
    defer { connection.observeValues(nil) }
    let loop = loop
    let watching = Task(executorPreference: loop.tasks) {
      try await connection.closed()
      done.continuation.finish()
    }
    defer { watching.cancel() }
    try await connection.write(
      [UInt8(truncatingIfNeeded: kind.rawValue), UInt8(kind.rawValue >> 8)], to: configuration)
    try await loop.sleep(for: plan.warmUp)
    let peerTime = try await peerProcessTime
    measurement.value.begin(pdus: try await pdus)
    let alarm = loop.after(plan.time) { done.continuation.finish() }
    defer { alarm.cancel() }
    for await _ in done.stream {}
    measurement.value.end(pdus: (try? await pdus) ?? 0)
    if let reason = await connection.endReason { throw reason }
    try await endPeerProcessTime(since: peerTime)
    try? await connection.unsubscribe(configuration: configuration)
    try Task.checkCancellation()
  }

  /// PDUs in both directions so far.
  private var pdus: UInt64 {
    get async throws {
      let counters = try await connection.counters
      return counters.sent + counters.received
    }
  }
}

/// The shortest exchange with any server: Find Information about the first handle, Vol 3, Part F,
/// 3.4.3.1. An Error Response ends it too.
private struct Ping: Procedure, Sendable {
  func encodeRequest(into out: inout OutputRawSpan) throws(ProcedureError) {
    FindInformationRequest(HandleRange(.min, .min) ?? .all).encode(into: &out)
  }

  func receive(
    _ response: borrowing PDU, mtu: Int
  ) throws(ProcedureError) -> Step<Void> { .finished(()) }
}

extension Duration {
  /// Whole nanoseconds, at most 292 years.
  var nanoseconds: Int64 {
    let (seconds, attoseconds) = components
    let (whole, isFar) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    return isFar ? .max : whole + attoseconds / 1_000_000_000
  }
}
