import Atto
package import AttoRadio

/// The connection parameters to ask for: the values of `--interval`, `--latency` and
/// `--supervision`.
package struct ParameterRequest: Sendable {
  package static let options: [any CommandOption] = [
    CommonOptions.interval, CommonOptions.latency, CommonOptions.supervision,
  ]
  /// Linux's default, 30 to 50 ms.
  private static let defaultRange: ClosedRange<UInt16> = 24...40
  /// Linux's default in units of 10 ms.
  private static let defaultTimeout = 42
  private static let longestTimeout = 3200

  /// What a link of the kernel starts with, or changes to.
  package let parameters: PreferredConnectionParameters
  private let interval: ConnectionInterval?
  /// Whether it asks for the interval alone.
  private let isOfInterval: Bool

  /// Reads the options; nil if none is given.
  ///
  /// Without `--supervision` the timeout is Linux's default, unless six of the intervals, or of the
  /// latencies, take longer.
  ///
  /// - Throws: `UsageError` if the timeout is not longer than two intervals with the events that
  ///   may be skipped. Vol 6, Part B, 4.5.2.
  package init?(_ arguments: Arguments) throws(UsageError) {
    interval = arguments[CommonOptions.interval]
    let latency = arguments[CommonOptions.latency]
    let supervision = arguments[CommonOptions.supervision]
    isOfInterval = latency == nil && supervision == nil
    guard interval != nil || !isOfInterval else { return nil }
    let range = interval?.range ?? Self.defaultRange
    // In units of 1.25 ms, of which 8 are a unit of the timeout.
    let pause = (1 + (latency ?? 0)) * Int(range.upperBound)
    let timeout =
      supervision.map { Int($0) }
      ?? min(max(Self.defaultTimeout, (pause * 6 + 7) / 8), Self.longestTimeout)
    guard timeout * 8 > pause * 2 else {
      let least = pause * 5 / 2
      throw UsageError(
        supervision == nil
          ? "with this interval, --latency would need a supervision timeout over 32 s"
          : "--supervision must be over \(least) ms: two intervals, with the events that may be skipped",
        hint: "a shorter --interval, or a lower --latency")
    }
    parameters = PreferredConnectionParameters(
      interval: range, latency: UInt16(latency ?? 0), supervisionTimeout: UInt16(timeout))
  }

  /// The endpoint to connect to: on the virtual air, it has the interval in its timing.
  ///
  /// - Throws: `UsageError` if links of this endpoint do not have these parameters.
  package func applied(to endpoint: Endpoint) throws -> Endpoint {
    switch endpoint {
    case .le: return endpoint
    case .air(let name, let timing):
      guard isOfInterval, let interval else { break }
      return .air(name, timing: try interval.applied(to: timing))
    default: break
    }
    throw UsageError(
      isOfInterval
        ? "--interval requires an le: or air: endpoint, not \"\(endpoint)\""
        : "--latency and --supervision require an le: endpoint, not \"\(endpoint)\"")
  }

  /// Whether a link has what was asked for.
  package func isMet(by agreed: AgreedParameters) -> Bool {
    parameters.interval.contains(agreed.interval) && parameters.latency == agreed.latency
      && (isOfInterval || parameters.supervisionTimeout == agreed.supervisionTimeout)
  }
}
