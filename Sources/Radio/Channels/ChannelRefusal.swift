/// Why a peer did not open a channel: results of L2CAP_LE_CREDIT_BASED_CONNECTION_RSP (Vol 3,
/// Part A, 4.23).
///
/// The kernel tells its sockets nearly all of them as ECONNREFUSED. What the peer has answered is
/// seen by the monitor (`LinkMonitor`), which wants CAP_NET_RAW and a link that was made while the
/// adapter was open; where it is not seen, ``unspecified`` is told.
public enum ChannelRefusal: UInt8, Hashable, Sendable {
  /// Nobody listens at the PSM.
  case unknownPSM = 2
  /// The peer has as many channels as it takes.
  case noResources = 4
  /// The key of the link is not good enough.
  case insufficientAuthentication = 5
  /// The peer does not allow this end to.
  case insufficientAuthorization = 6
  /// The key of the link is too short.
  case keyTooShort = 7
  /// The link is not encrypted, and could not be.
  case insufficientEncryption = 8
  /// This end's number of the channel is none.
  case invalidSource = 9
  /// This end's number of the channel is in use.
  case sourceInUse = 10
  /// The peer cannot work with the MTU or the MPS.
  case unacceptableParameters = 11
  /// The peer refused, and why is not known.
  case unspecified = 0xFF

  /// Whether a better protected link would do.
  public var isForSecurity: Bool {
    switch self {
    case .insufficientAuthentication, .insufficientAuthorization, .keyTooShort,
      .insufficientEncryption:
      true
    default: false
    }
  }
}

extension ChannelRefusal: CustomStringConvertible {
  /// What happened and what helps.
  public var description: String {
    switch self {
    case .unknownPSM: "nobody listens there: is it published, and the PSM still the same?"
    case .noResources: "it has no room for another channel: close one, or try again later"
    case .insufficientAuthentication:
      "it wants an encrypted link, with a key that was compared or entered by a person: pair first"
    case .insufficientAuthorization: "it does not allow this device to: authorize it there"
    case .keyTooShort: "it wants a longer key: forget the bond at both ends, and pair anew"
    case .insufficientEncryption: "it wants an encrypted link: pair first"
    case .invalidSource, .sourceInUse: "it says that this end's number of the channel is wrong"
    case .unacceptableParameters: "it cannot work with the MTU that this end offers"
    case .unspecified:
      "nobody listens there, or it has no room, or it wants an encrypted link; a process with"
        + " CAP_NET_RAW that has made the link is told which"
    }
  }
}
