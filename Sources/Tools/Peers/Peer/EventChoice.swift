import Atto
import AttoCommandLine
import AttoLinkTiming
import AttoRadio

/// Which connection events a link of the kernel is to use, and how: what `--subrate`, `--continuation` and
/// `--frame-space` ask for.
package struct EventChoice: Sendable {
  package static let subrate = Option.value(
    "subrate", "N[-N]",
    "Ask to use one of so many connection events of an le: link while nothing is sent, 1 to 500.",
    expected: "a factor from 1 to 500, or a range such as 5-10"
  ) { text -> ClosedRange<UInt16>? in
    let ends = text.split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
    guard let first = UInt16(ends[0]), let last = UInt16(ends[ends.count - 1]), first <= last,
      LinkParameters.subrateRange ~= Int(first), LinkParameters.subrateRange ~= Int(last)
    else { return nil }
    return first...last
  }
  package static let continuation = Option.integer(
    "continuation", "N", in: 0...499,
    "With --subrate: use so many more events after one with data (default: 0).")
  /// The values of 150 us and of this time are the ends of what is asked for.
  package static let frameSpace = Option.value(
    "frame-space", "TIME",
    "Ask for this time between the packets of an le: link instead of 150us, such as 60us.",
    expected: "a time from 0us to 10ms"
  ) { text in
    LinkParameters.nanoseconds(text).flatMap { time in
      LinkParameters.frameSpaceRange.contains(time) ? UInt16(time / 1000) : nil
    }
  }
  package static let group = OptionGroup(
    "connection event options", [subrate, continuation, frameSpace])
  private static let usualSpace = UInt16(LinkParameters.usualFrameSpace / 1000)

  private let request: SubrateRequest?
  /// The request, if the controllers have no choice.
  var certain: SubrateRequest? { request.flatMap { $0.factor.count == 1 ? $0 : nil } }
  private let space: UInt16?

  /// nil if nothing is asked for.
  ///
  /// - Throws: a usage error if links of this endpoint have no such choice, or for a continuation without subrating.
  package init?(_ arguments: Arguments, at endpoint: Endpoint) throws {
    let factor = arguments[Self.subrate]
    let continuation = arguments[Self.continuation]
    space = arguments[Self.frameSpace]
    if let continuation {
      guard let factor else { throw UsageError("--continuation requires --subrate") }
      guard continuation < Int(factor.upperBound) else {
        throw UsageError("--continuation must be less than --subrate, \(factor.upperBound)")
      }
    }
    guard factor != nil || space != nil else { return nil }
    request = factor.map { SubrateRequest(factor: $0, continuation: UInt16(continuation ?? 0)) }
    if case .le = endpoint { return }
    throw UsageError(
      "--subrate and --frame-space require an le: endpoint, not \"\(endpoint)\"",
      hint: endpoint.isAir
        ? "a simulated link has them in its endpoint, such as air:NAME?subrate=4&frame-space=60us"
        : nil)
  }

  /// Called before the link is made.
  package func prepare(_ radio: Adapter) async throws {
    if request != nil { try await radio.prepareSubrating() }
  }

  /// Sends the requests to the controller, once there is a link.
  package func ask(_ radio: Adapter, _ peer: BluetoothAddress) async throws {
    if let request { try await radio.requestSubrate(with: peer, request) }
    if let space {
      let range = min(space, Self.usualSpace)...max(space, Self.usualSpace)
      try await radio.requestFrameSpace(with: peer, microseconds: range)
    }
  }

  /// Prints what has come of it.
  package func show(_ facts: LinkFacts) {
    func note(_ name: String, _ asked: String, _ used: String?) {
      Terminal.note(
        used.map { "\(name): \(asked) asked for, \($0) in use" }
          ?? "\(name): the controller has accepted \(asked), and Linux does not show the result")
    }
    if let factor = request?.factor {
      let used = facts.parameters?.subrate.map { "\($0.factor)" }
      let asked =
        factor.count == 1 ? "\(factor.lowerBound)" : "\(factor.lowerBound)-\(factor.upperBound)"
      note("subrate", asked, used)
    }
    if let space {
      note("frame space", "\(space) us", facts.parameters?.frameSpace.map { "\($0) us" })
    }
  }
}
