import Atto
import AttoLinks

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

  /// The kernel's stamps are moved from one clock to the other, which costs some accuracy.
  private static let accuracy: Int64 = 1000

  /// - Parameters:
  ///   - kinds: the stamps that the kernel gives.
  ///   - isRadio: whether the link is one of the kernel's radio.
  init(_ kinds: KernelStamps, isRadio: Bool, of operation: StagedOperation) {
    self.operation = operation
    stages = Stage.known(kinds, of: operation)
    missing = Stage.missing(kinds, of: operation)
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
