/// Why pairing, or encrypting with the key of an earlier pairing, came to nothing.
public enum PairingFailure: Hashable, Sendable {
  /// The peers did not agree. Of the reason the kernel says nothing (MGMT_EV_AUTH_FAILED); what
  /// was done at this end last tells most of it.
  case disagreement(PairingStep)
  /// The peer does not know the key that an earlier pairing has left here (PIN or Key Missing,
  /// Vol 1, Part F, 2.6).
  case keyMissing
  /// The link was lost while the peers were pairing.
  case linkLost
  /// Somebody did not answer for so long that it was given up. Vol 3, Part H, 3.4.
  case timeout
}

/// What one end did last while pairing.
public enum PairingStep: Hashable, Sendable {
  /// It was not asked for anything.
  case nothing
  /// It was to take the peer without a comparison (Just Works), and has not refused.
  case accepted
  /// It refused.
  case refused
  /// It showed a passkey.
  case shown
  /// It entered a passkey.
  case entered
  /// It was given the peer's number to compare with its own, and has not refused.
  case compared
}

extension PairingFailure: CustomStringConvertible {
  /// What happened and what helps, to follow "pairing failed: ".
  public var description: String {
    switch self {
    case .disagreement(.nothing):
      "the peer refused it, or an end cannot show and enter what the other demands"
    case .disagreement(.accepted): "the peer refused it, or demands a passkey or a comparison"
    case .disagreement(.refused): "it was refused at this end"
    case .disagreement(.shown):
      "the passkey shown here was not entered at the peer, or not correctly"
    case .disagreement(.entered): "the passkey entered here is not the one that the peer shows"
    case .disagreement(.compared): "the peer did not confirm that the numbers are equal"
    case .keyMissing: "the peer has forgotten the bond that this end still has"
    case .linkLost: "the link was lost meanwhile; is the peer still there?"
    case .timeout: "an end did not answer in time; is there an agent, or a person, at both?"
    }
  }
}
