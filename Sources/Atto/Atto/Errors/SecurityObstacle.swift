import AttoLinks

/// The reason why a link's security could not be raised when a peer required it.
@nonexhaustive public enum SecurityObstacle: Error, Equatable, Sendable {
  /// The link cannot be encrypted, or its radio supports at most this level.
  case link(SecurityLevel)
  /// ``ConnectionOptions/securityOnDemand`` allows at most this level.
  case option(SecurityLevel)
  /// The link already has the highest level.
  case highest
  /// The next level requires a passkey to be shown or entered, and the agent of this end can do
  /// neither.
  case noDisplayOrKeyboard
  /// The level was not reached in this time. `hasAgent` is whether this end's radio has a pairing
  /// agent.
  case timeout(SecurityLevel, after: Duration, hasAgent: Bool)
  /// The link failed to start the raise.
  case failure(LinkError)
}

extension SecurityObstacle: CustomStringConvertible {
  public var description: String {
    switch self {
    case .link(.low): "this kind of link cannot be encrypted"
    case .link(let level): "this radio supports at most \(level)"
    case .option(let level): "the connection allows at most \(level)"
    case .highest: "the link already has the highest level"
    case .noDisplayOrKeyboard:
      "the peer requires an authenticated key, and this end can neither show nor enter a passkey"
    case .timeout(let level, let time, hasAgent: true):
      "\(level) was not reached within \(time)"
    case .timeout(let level, let time, hasAgent: false):
      "\(level) was not reached within \(time), and this end has no pairing agent"
    case .failure(let error): error.description
    }
  }
}
