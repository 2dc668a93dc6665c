import Atto
import AttoCommandLine
import AttoLinks

/// The PHY that `--phy` asks for.
package enum PHYChoice {
  /// - Throws: a usage error if links of this endpoint have no PHY to choose, ``Unreachable`` if this kernel has no
  ///   such choice.
  package static func checked(
    _ arguments: Arguments, at endpoint: Endpoint
  ) throws -> LinkPHY.Kind? {
    guard let phy = arguments[CommonOptions.phy] else { return nil }
    switch endpoint {
    case .le, .leAny: break
    case .air:
      throw UsageError(
        "--phy requires an le: endpoint, not \"\(endpoint)\"",
        hint: "a simulated link has the PHY of its endpoint, such as air:NAME?phy=2M")
    case .unix, .descriptor:
      throw UsageError("--phy requires an le: endpoint, not \"\(endpoint)\"")
    }
    guard !LinkPHY.isFixed else {
      throw Unreachable(
        message: "this kernel cannot choose the PHY of a link (BT_PHY)",
        hint: "Linux 7.3 can: atto doctor, line features")
    }
    return phy
  }
}
