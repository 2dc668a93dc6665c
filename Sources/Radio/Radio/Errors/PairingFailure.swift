/// Why pairing, or encrypting with the key of an earlier pairing, failed.
@nonexhaustive public enum PairingFailure: Hashable, Sendable {
  /// The peers did not agree. The kernel reports no reason (MGMT_EV_AUTH_FAILED), but the last step
  /// at this end narrows it down.
  case disagreement(PairingStep)
  /// The peer has no key of an earlier pairing that this end still has (PIN or Key Missing, Vol 1,
  /// Part F, 2.6).
  case keyMissing
  /// The link was lost during pairing.
  case linkLost
  /// An end did not answer in time. Vol 3, Part H, 3.4.
  case timeout
}

/// The last step of this end while pairing.
public enum PairingStep: Hashable, Sendable {
  /// This end was asked nothing.
  case nothing
  /// This end was asked to accept the peer without a comparison (Just Works), and has not refused.
  case accepted
  /// This end refused.
  case refused
  /// This end showed a passkey.
  case shown
  /// This end entered a passkey.
  case entered
  /// This end was asked to compare two numbers, and has not refused.
  case compared
}

extension PairingFailure: CustomStringConvertible {
  /// The reason, to follow "pairing failed: ".
  public var description: String {
    switch self {
    case .disagreement(.nothing):
      "the peer refused, or an end cannot show or enter what the other requires"
    case .disagreement(.accepted): "the peer refused, or requires a passkey or a comparison"
    case .disagreement(.refused): "this end refused"
    case .disagreement(.shown):
      "the passkey shown here was not entered correctly at the peer"
    case .disagreement(.entered):
      "the passkey entered here differs from the one that the peer shows"
    case .disagreement(.compared): "the peer did not confirm that the numbers are equal"
    case .keyMissing: "the peer has removed the bond that this end still has"
    case .linkLost: "the link was lost"
    case .timeout: "an end did not answer in time"
    }
  }
}
