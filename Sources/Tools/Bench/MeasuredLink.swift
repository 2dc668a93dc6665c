import Atto
import AttoLinkTiming
import AttoLinks
import AttoPeers

/// What is known about the link under a test.
package enum MeasuredLink: Sendable {
  /// From `--link`.
  case stated(LinkParameters)
  /// From the endpoint, which times the link by them.
  case simulated(LinkParameters)
  /// From the kernel. It reports the parameters only when the link opens, and later only changes.
  case told(phy: LinkPHY?, AgreedParameters?, isEncrypted: Bool)

  /// The parameters for the model of links, in the direction of a workload; nil if some are unknown. The
  /// kernel does not report the initial data length, 27 octets.
  package func parameters(for workload: Workload) -> LinkParameters? {
    switch self {
    case .stated(let parameters), .simulated(let parameters): return parameters
    case .told(nil, _, _), .told(_, nil, _): return nil
    case .told(let phy?, let agreed?, let isEncrypted):
      let isSent = workload.sender == .here
      guard let modelled = Self.model(isSent ? phy.transmit : phy.receive) else { return nil }
      let length = agreed.dataLength.map { isSent ? $0.transmit : $0.receive } ?? 27
      return LinkParameters(
        phy: modelled, interval: Int64(agreed.interval) * 1_250_000,
        dataLength: Int(length), isEncrypted: isEncrypted,
        subrate: Int(agreed.subrate?.factor ?? 1),
        continuation: Int(agreed.subrate?.continuation ?? 0),
        frameSpace: agreed.frameSpace.map { Int64($0) * 1000 } ?? LinkParameters.usualFrameSpace)
    }
  }

  var phyText: String? { if case .told(let phy?, _, _) = self { "\(phy)" } else { nil } }

  var source: String { if case .told = self { "kernel" } else { "stated" } }

  /// Whether the link under the test has these parameters, however fast it is.
  var isCertain: Bool { if case .simulated = self { true } else { false } }

  /// The kernel does not report the coding (S=2 or S=8) of a coded PHY.
  private static func model(_ kind: LinkPHY.Kind) -> PHY? {
    switch kind {
    case .oneMegabit: .le1M
    case .twoMegabit: .le2M
    case .coded: nil
    }
  }
}

extension LinkReport {
  /// What the kernel knows about the link; nil when it has ended, and for links of other carriers. The
  /// parameters are nil if the link is older than this report.
  ///
  /// - Parameter subrate: what the controller has accepted, for kernels that do not show the result.
  package func measured(
    _ connection: Connection, _ subrate: SubrateRequest?
  ) async -> MeasuredLink? {
    guard kernel != nil, let facts = try? await facts(of: connection),
      let security = try? await connection.security
    else { return nil }
    var parameters = facts.parameters
    if let subrate, parameters?.subrate == nil {
      parameters?.subrate = AgreedParameters.Subrate(
        factor: subrate.factor.upperBound, continuation: subrate.continuation)
    }
    return .told(phy: facts.phy, parameters, isEncrypted: security.level > .low)
  }
}
