import Atto
import AttoLinks
import CAttoLinux

/// Where the latencies of a test were spent, of constant size.
///
/// # Theory
/// Stages end at moments of one clock, and each begins where the one before it ends. So the stages of an
/// operation add up to its latency, and their shares to 100 %. An operation of which a moment is unknown, or
/// earlier than the one before it, is left out as a whole: for instance, if the controller reports a request
/// as completed after its response.
package struct StageTimes: Sendable {
  let operation: StagedOperation
  let stages: [Stage]
  let missing: [Stage]
  /// Why stages are missing.
  let reason: String
  private(set) var times: [Histogram]
  private(set) var sums: [Double]
  /// Operations that were counted, and left out.
  private(set) var count: UInt64 = 0
  private(set) var leftOut: UInt64 = 0
  /// The times of the last exchange on the bearer.
  var exchange: TimedExchange?
  /// Whether commands are reported when they are completed.
  private let awaitsCompletion: Bool
  /// When commands were begun that are not completed yet, oldest first.
  private var begun: [Int64] = []

  /// The kernel's stamps are moved from one clock to the other, which costs some accuracy.
  private static let accuracy: Int64 = 1000

  /// - Parameters:
  ///   - kinds: the stamps that the kernel gives.
  ///   - isRadio: whether the link is one of the kernel's radio.
  init(_ kinds: KernelStamps, isRadio: Bool, of operation: StagedOperation) {
    self.operation = operation
    stages = Stage.known(kinds, of: operation)
    missing = Stage.missing(kinds, of: operation)
    awaitsCompletion = operation == .command && stages.contains(.controller)
    reason =
      if !isRadio {
        "the kernel stamps PDUs of its own radios only"
      } else if kinds.contains(.arrived) {
        "this kernel does not stamp sent PDUs (Linux 6.15 and later do)"
      } else {
        "this kernel does not stamp PDUs"
      }
    times = stages.map { _ in Histogram() }
    sums = stages.map { _ in 0 }
  }

  /// Whether commands are not completed yet.
  var awaitsCommands: Bool { !begun.isEmpty }

  /// A command is about to be sent.
  mutating func commandBegins() { if awaitsCompletion { begun.append(clinux_monotonic()) } }

  /// An exchange was timed. A command counts if it was begun after the measurement.
  ///
  /// - Parameter start: of the measurement; 0 before it.
  mutating func take(_ exchange: TimedExchange, measuredFrom start: Int64) {
    guard case .command(let sent) = exchange else {
      self.exchange = exchange
      return
    }
    // In the order of sending, from the first one. Many are completed after the last was accepted.
    guard !begun.isEmpty else { return }
    let time = begun.removeFirst()
    if start > 0, time >= start { add(command: sent, from: time) }
  }

  /// Adds the operation that began and ended at these times, with the last exchange.
  mutating func add(from start: Int64, to end: Int64) {
    guard !awaitsCompletion else { return }
    if operation == .command {
      add(commandFrom: start, to: end)
    } else {
      add(exchange, from: start, to: end)
    }
    exchange = nil
  }

  /// Adds the value of the last exchange, which the caller received at this time.
  mutating func addValue(to end: Int64) { add(value: exchange, to: end) }

  /// Adds a round trip, which the caller began and ended at these times.
  mutating func add(_ exchange: TimedExchange?, from start: Int64, to end: Int64) {
    guard case .roundTrip(let sent, let response) = exchange else { return leftOut += 1 }
    add(
      [start]
        + stages.map { stage in
          switch stage {
          case .queue: sent.call
          case .kernel: sent.given
          case .controller: sent.completed
          case .peer, .away: response.kernel
          case .outside, .delivery: response.program
          case .application: end
          }
        })
  }

  /// Adds a value that the caller received at this time.
  mutating func add(value exchange: TimedExchange?, to end: Int64) {
    guard case .value(let arrival) = exchange else { return leftOut += 1 }
    let start = stages.first == .delivery ? arrival.kernel : arrival.program
    add([start] + stages.map { $0 == .delivery ? arrival.program : end })
  }

  /// Adds a command that the caller began to send at this time.
  mutating func add(command sent: TimedExchange.Sending, from start: Int64) {
    add([start, sent.call, sent.given, sent.completed])
  }

  /// Adds a command, which the link took at a time, without stamps.
  mutating func add(commandFrom start: Int64, to end: Int64) { add([start, end]) }

  private mutating func add(_ moments: [Int64?]) {
    var last: Int64?
    var spans: [Int64] = []
    for moment in moments {
      guard let moment else { return leftOut += 1 }
      let before = last ?? moment
      guard moment >= before - Self.accuracy else { return leftOut += 1 }
      if last != nil { spans.append(max(0, moment - before)) }
      last = max(moment, before)
    }
    count += 1
    for (index, span) in spans.enumerated() {
      times[index].add(span)
      sums[index] += Double(span)
    }
  }
}

extension Connection {
  /// Calls a body on the loop with the times of each exchange from now on.
  ///
  /// - Returns: what divides operations into the stages that this link's kernel tells.
  func timeStages(
    of operation: StagedOperation, _ took: @escaping @Sendable (TimedExchange) -> Void
  ) async throws(AttoError) -> StageTimes {
    let kinds = try await timeExchanges(took)
    return StageTimes(kinds, isRadio: try await addresses != nil, of: operation)
  }
}
