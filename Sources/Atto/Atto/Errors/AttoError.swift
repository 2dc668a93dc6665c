import AttoATT
import AttoEventLoop
import AttoGATT
import AttoLinks
import AttoRadio

/// An error, classified by whose fault it was. ``endsConnection`` and ``isRetryable`` say what to do
/// about it.
@nonexhaustive public enum AttoError: WaitError, Equatable, Sendable {
  /// The peer answered with an ATT error. Unknown codes are kept.
  case refused(ErrorResponse)
  /// The peer's responses contradict themselves, the request or the specification.
  case violation(ProtocolViolation)
  /// The peer has more of something than ``AttoGATT/DiscoveryLimits`` allow, which is no fault of the peer.
  case limit(ProcedureLimit, Int)
  /// The procedure did not end within ``ConnectionOptions/procedureTimeout``.
  case procedureTimeout(after: Duration)
  /// The bearer cannot be used any more: a transaction timed out, or a response was invalid.
  case bearer(BearerFailure)
  /// The enhanced bearer of the procedure cannot be used any more. The connection is still open, and
  /// later procedures use its other bearers.
  case enhancedBearer(BearerFailure)
  /// The link could not be opened, or was lost.
  case link(LinkError)
  /// This end closed the connection: with ``Connection/close()``, by releasing it, or with
  /// ``LocalServer/disconnect(_:)``.
  case closed
  /// The peer closed the link normally.
  case disconnected(peer: String)
  /// The radio failed.
  case radio(RadioError)
  /// The link could not be opened in this time.
  case connectTimeout(endpoint: String, after: Duration)
  /// The link did not reach this security level in this time.
  case securityTimeout(SecurityLevel, after: Duration)
  /// The peer refused a request because the link is not secure enough, and the link's security could
  /// not be raised. See ``ConnectionOptions/securityOnDemand``.
  case insufficientSecurity(ErrorResponse, SecurityObstacle)
  /// The link was lost or could not be opened, because pairing failed or a key did not match.
  case pairing(peer: String, PairingFailure)
  /// The event loop could not watch another descriptor.
  case loop(LoopError)
  /// The database cannot be changed in this way.
  case database(DatabaseError)
  /// The caller used the API incorrectly.
  case misuse(Misuse)
  /// The server has as many clients as its limit allows.
  case tooManyClients(limit: Int)
  /// The server has closed the connection because the client sent nothing for so long. See
  /// ``ListenOptions/idleLimit``.
  case idle(for: Duration)
  /// The server has closed the connection because the client did not take notifications in time, and
  /// so many waited. See ``ConnectionOptions/backlog``.
  case tooSlow(waiting: Int)
  /// The text is not an endpoint, or not one for this role.
  case endpoint(EndpointError)
  /// The caller's task was cancelled. Nothing more is sent for its call.
  ///
  /// Not `CancellationError`, because a function that throws `AttoError` throws no other type. See
  /// ``isCancellation``.
  case cancelled
}

extension AttoError {
  init(_ error: ProcedureError, end: AttoError?, obstacle: SecurityObstacle? = nil) {
    switch error {
    case .refused(let response) where response.code.isForWantOfSecurity && obstacle != nil:
      self = obstacle.map { .insufficientSecurity(response, $0) } ?? .refused(response)
    case .refused(let response): self = .refused(response)
    case .violation(let violation): self = .violation(violation)
    case .limit(let what, let limit): self = .limit(what, limit)
    case .misuse(let misuse): self = .misuse(misuse)
    case .bearer(.linkEnded), .enhancedBearer(.linkEnded): self = end ?? .bearer(.linkEnded)
    case .enhancedBearer(let failure): self = .enhancedBearer(failure)
    case .bearer(let failure): self = .bearer(failure)
    case .cancelled: self = .cancelled
    }
  }
}

extension AttoError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .refused(let response): "the peer answered \(response)"
    case .violation(let violation): "the peer broke the protocol: \(violation)"
    case .limit(let what, let limit):
      "the peer has more \(what) than this end's limit of \(limit)"
    case .procedureTimeout(let time):
      "the procedure did not end within this end's limit of \(time)"
    case .bearer(let failure): failure.description
    case .enhancedBearer(let failure):
      "an enhanced bearer failed: \(failure); the connection is still open"
    case .link(let error): error.description
    case .closed: "the connection was closed"
    case .disconnected(let peer): "\(peer) disconnected"
    case .radio(let error): error.description
    case .connectTimeout(let endpoint, let time):
      "connecting to \(endpoint) timed out after \(time)"
    case .securityTimeout(let level, let time):
      "the link did not reach security level \(level) within \(time)"
    case .insufficientSecurity(let response, let obstacle):
      "the peer answered \(response), and the link's security cannot be raised: \(obstacle)"
    case .pairing(let peer, .keyMissing):
      "\(peer) has no key of the earlier pairing: it has forgotten the bond"
    case .pairing(let peer, let failure): "pairing with \(peer) failed: \(failure)"
    case .loop(let error): error.description
    case .database(let error): "\(error)"
    case .misuse(let misuse): misuse.description
    case .tooManyClients(let limit): "too many clients: the limit is \(limit)"
    case .idle(let time): "the client sent nothing for \(time)"
    case .tooSlow(let count): "the client does not take notifications in time: \(count) waited"
    case .endpoint(let error): error.description
    case .cancelled: "cancelled"
    }
  }
}
