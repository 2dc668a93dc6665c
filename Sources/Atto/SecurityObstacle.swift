import Links

/// Why a link's security is not raised when a peer wants more of it.
public enum SecurityObstacle: Equatable, Sendable {
  /// The link has no keys, or its radio allows no more than this level.
  case link(SecurityLevel)
  /// ``ConnectionOptions/securityOnDemand`` allows no more than this level.
  case option(SecurityLevel)
  /// The link has the highest level already.
  case highest
  /// The next level wants something shown or entered, and the agent of this end can do neither.
  case noDisplayOrKeyboard
  /// The level was not reached in this time. `hasAgent`: whether this end's radio has one.
  case timeout(SecurityLevel, after: Duration, hasAgent: Bool)
  /// The link could not be asked.
  case failure(LinkError)
}

extension SecurityObstacle: CustomStringConvertible {
  public var description: String {
    switch self {
    case .link(.low): "this kind of endpoint has no keys (le: and air: have)"
    case .link(let level): "this radio allows no more than \(level)"
    case .option(let level): "no more than \(level) is wished"
    case .highest: "the link has the highest level already"
    case .noDisplayOrKeyboard:
      "the link is encrypted already, the peer wants an authenticated key, and this end can "
        + "neither show nor enter a passkey (see --io)"
    case .timeout(let level, let time, hasAgent: true):
      "\(level) was not reached within \(time); does somebody answer at the peer?"
    case .timeout(let level, let time, hasAgent: false):
      "\(level) was not reached within \(time); nobody here answers the kernel's questions: an "
        + "agent is wanted, and CAP_NET_ADMIN for it"
    case .failure(let error): error.description
    }
  }
}
