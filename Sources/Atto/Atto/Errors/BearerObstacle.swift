public import AttoRadio

extension AttoError {
  /// Why a connection has no enhanced bearers.
  @nonexhaustive public enum BearerObstacle: Error, Equatable, Sendable {
    /// The peer does not offer them: bit 0 of its Server Supported Features is not set.
    case notOffered
    /// The link cannot be encrypted, which they need (Vol 3, Part G, 5.3.2).
    case notEncrypted
    /// The radio cannot open them, or the peer refused.
    case radio(RadioError)
  }
}

extension AttoError.BearerObstacle: CustomStringConvertible {
  public var description: String {
    switch self {
    case .notOffered: "the peer does not offer enhanced bearers"
    case .notEncrypted: "enhanced bearers need an encrypted link"
    case .radio(let error): error.description
    }
  }
}
