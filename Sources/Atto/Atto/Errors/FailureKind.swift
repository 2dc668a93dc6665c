import AttoRadio

/// The kinds of failure that programs tell apart: the words of `--json`, and of the gateway's answers.
package enum FailureKind: String, Sendable {
  /// The peer answered with an ATT error.
  case att
  /// The command line is wrong, or a line of a script or of standard input, or a request.
  case usage
  /// A file cannot be read or written, or has wrong content. Standard output is one.
  case file
  /// The link could not be opened, or was lost.
  case link
  /// The radio failed, or this machine has none.
  case radio
  /// Pairing failed, or a key did not match.
  case pairing
  /// Something took longer than its limit.
  case timeout
  /// The peer broke the protocol.
  case peer
  /// A limit of this end was reached.
  case limit
  /// A library or the system failed.
  case system
  /// The user interrupted the command.
  case interrupted
  /// A check failed.
  case check
}

extension AttoError {
  /// The kind of this error.
  package var kind: FailureKind {
    switch self {
    case .refused, .insufficientSecurity: .att
    case .violation: .peer
    case .limit, .tooManyClients, .tooSlow: .limit
    case .procedureTimeout, .connectTimeout, .securityTimeout, .idle, .bearer(.transactionTimeout),
      .enhancedBearer(.transactionTimeout):
      .timeout
    case .bearer(.linkEnded), .enhancedBearer(.channelEnded), .link, .closed, .disconnected: .link
    case .bearer, .enhancedBearer: .peer
    case .radio(let error): error.kind
    case .pairing: .pairing
    case .database, .misuse, .endpoint: .usage
    case .cancelled: .interrupted
    default: .system
    }
  }
}

extension RadioError {
  /// The kind of this error.
  package var kind: FailureKind {
    switch self {
    case .invalidName, .invalidEndpoint, .invalidInterval, .advertisingData: .usage
    case .notFound, .ambiguous, .notConnectable, .refused, .channelRefused, .notConnected, .link:
      .link
    case .protocolViolation: .peer
    case .timedOut: .timeout
    case .pairing, .notPaired: .pairing
    case .tooManyChannels, .tooManyAdvertisements: .limit
    case .cancelled: .interrupted
    case .system: .system
    default: .radio
    }
  }
}
