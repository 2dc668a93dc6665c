import Atto
import LinkTiming

/// What is known of the link under a test.
enum MeasuredLink: Sendable {
  /// By the command line or the endpoint.
  case stated(LinkParameters)
  /// By the kernel and its monitor: what it has told so far. Without parameters nobody listened
  /// when the link came about.
  case told(phy: LinkPHY?, AgreedParameters?, isEncrypted: Bool)

  /// The parameters that the model of links wants, for octets that travel this way; nil if they
  /// are not all known. Links begin with 1M and 27 octets, of which the kernel says nothing.
  func parameters(of test: BenchTest) -> LinkParameters? {
    switch self {
    case .stated(let parameters): return parameters
    case .told(_, nil, _): return nil
    case .told(let phy, let agreed?, let isEncrypted):
      guard let modelled = Self.model(kind(phy ?? agreed.phy, test)) else { return nil }
      let length = agreed.dataLength.map { test.isWritten ? $0.transmit : $0.receive } ?? 27
      return LinkParameters(
        phy: modelled, interval: Int64(agreed.interval) * LinkParameters.intervalUnit,
        dataLength: Int(length), isEncrypted: isEncrypted)
    }
  }

  /// In words, where the parameters are not all known.
  var phyText: String? {
    guard case .told(let phy?, _, _) = self else { return nil }
    return "\(phy)"
  }

  var source: String {
    switch self {
    case .stated: "stated"
    case .told: "kernel"
    }
  }

  private func kind(_ phy: LinkPHY?, _ test: BenchTest) -> LinkPHY.Kind {
    guard let phy else { return .oneMegabit }
    return test.isWritten ? phy.transmit : phy.receive
  }

  /// The kernel does not tell whether a coded link has two symbols for a bit or eight.
  private static func model(_ kind: LinkPHY.Kind) -> PHY? {
    switch kind {
    case .oneMegabit: .le1M
    case .twoMegabit: .le2M
    case .coded: nil
    }
  }
}
