/// Why a peer refused a channel: results of L2CAP_LE_CREDIT_BASED_CONNECTION_RSP and
/// L2CAP_CREDIT_BASED_CONNECTION_RSP (Vol 3, Part A, 4.23 and 4.26).
///
/// The kernel reports nearly all of them as ECONNREFUSED. The answer of the peer is read from the
/// kernel's monitor, which requires CAP_NET_RAW and a link that was made while the adapter was open.
/// Otherwise the reason is ``unspecified``.
public enum ChannelRefusal: UInt8, Hashable, Sendable {
  /// The peer has not published the PSM.
  case unknownPSM = 2
  /// The peer has no resources for another channel.
  case noResources = 4
  /// The key of the link is not authenticated.
  case insufficientAuthentication = 5
  /// The peer does not permit it.
  case insufficientAuthorization = 6
  /// The key of the link is too short.
  case keyTooShort = 7
  /// The link is not encrypted and could not be.
  case insufficientEncryption = 8
  /// The source CID of this end is not valid.
  case invalidSource = 9
  /// The source CID of this end is in use.
  case sourceInUse = 10
  /// The peer does not accept the MTU or the MPS.
  case unacceptableParameters = 11
  /// A parameter of the request is not valid.
  case invalidParameters = 12
  /// The reason is not known.
  case unspecified = 0xFF

  /// Whether a link with more security may be accepted.
  public var isForSecurity: Bool {
    switch self {
    case .insufficientAuthentication, .insufficientAuthorization, .keyTooShort,
      .insufficientEncryption:
      true
    default: false
    }
  }

  /// What a person can do about it; nil if there is nothing.
  public var hint: String? {
    switch self {
    case .unknownPSM: "check that the channel is published, and that its PSM is still the same"
    case .noResources: "close a channel at the peer, or try again later"
    case .insufficientAuthentication: "pair first, with a passkey or a comparison"
    case .insufficientAuthorization: "authorize this device at the peer"
    case .keyTooShort: "remove the bond at both ends, and pair again"
    case .insufficientEncryption: "pair first"
    case .invalidSource, .sourceInUse, .unacceptableParameters, .invalidParameters: nil
    case .unspecified: "a process that has CAP_NET_RAW and made the link is told the reason"
    }
  }
}

extension ChannelRefusal: CustomStringConvertible {
  /// The reason, to follow "refused the channel: ".
  public var description: String {
    switch self {
    case .unknownPSM: "nothing is published there"
    case .noResources: "it has no resources for another channel"
    case .insufficientAuthentication:
      "it requires encryption with an authenticated key (a passkey or a comparison)"
    case .insufficientAuthorization: "it does not permit this device to open one"
    case .keyTooShort: "it requires a longer key"
    case .insufficientEncryption: "it requires an encrypted link"
    case .invalidSource, .sourceInUse: "it does not accept the source CID of this end"
    case .unacceptableParameters, .invalidParameters: "it does not accept the MTU of this end"
    case .unspecified:
      "nothing is published there, or it has no resources, or it requires an encrypted link"
    }
  }
}
