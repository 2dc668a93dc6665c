/// Why a peer did not open a channel: results of L2CAP_LE_CREDIT_BASED_CONNECTION_RSP (Vol 3,
/// Part A, 4.23), as far as they are told.
public enum ChannelRefusal: UInt8, Hashable, Sendable {
  /// Nobody listens at the PSM.
  case unknownPSM = 2
  /// The peer has as many channels as it takes.
  case noResources = 4
  /// The link is not encrypted, and could not be.
  case insufficientAuthentication = 5
}

extension ChannelRefusal: CustomStringConvertible {
  public var description: String {
    switch self {
    case .unknownPSM: "nobody listens there"
    case .noResources: "it has no room for another channel"
    case .insufficientAuthentication: "it wants an encrypted link: pair first"
    }
  }
}
