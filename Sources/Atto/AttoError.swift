import ATT
import GATT
import Links
import Radio

/// Why something could not be done, told by whose fault it was.
public enum AttoError: Error, Equatable, Sendable {
  /// The peer answered with an ATT error; unknown codes are kept.
  case refused(ErrorResponse)
  /// The peer's responses contradict themselves, the request or the specification.
  case violation(ProtocolViolation)
  /// The bearer is dead: a transaction timed out, or the peer answered with what is no answer.
  case bearer(BearerFailure)
  /// The link could not be opened, or was lost.
  case link(LinkError)
  /// The link was closed in order, by this end or the other.
  case disconnected(peer: String)
  /// The radio could not do its part.
  case radio(RadioError)
  /// The link did not come to stand in this time.
  case connectTimeout(endpoint: String, after: Duration)
  /// The link did not reach this security in this time.
  case securityTimeout(SecurityLevel, after: Duration)
  /// The peer has refused a request for want of security, which could not be raised: why. See
  /// ``ConnectionOptions/securityOnDemand``.
  case insufficientSecurity(ErrorResponse, SecurityObstacle)
  /// The link was lost, or not made, because pairing failed or a key did not fit.
  case pairing(peer: String, PairingFailure)
  /// The executor could not watch another descriptor.
  case loop(LoopError)
  /// The database cannot be changed like this.
  case database(DatabaseError)
  /// The caller asked for what cannot be done.
  case misuse(Misuse)
  /// The server has as many clients as its limit allows.
  case tooManyClients(limit: Int)
  /// Not an endpoint, or not one for this role.
  case endpoint(EndpointError)
  /// The caller's task was cancelled.
  case cancelled
}

extension AttoError {
  init(_ error: ProcedureError, end: AttoError?, obstacle: SecurityObstacle? = nil) {
    switch error {
    case .refused(let response) where response.code.isForWantOfSecurity && obstacle != nil:
      self = obstacle.map { .insufficientSecurity(response, $0) } ?? .refused(response)
    case .refused(let response): self = .refused(response)
    case .violation(let violation): self = .violation(violation)
    case .misuse(let misuse): self = .misuse(misuse)
    case .bearer(.linkEnded): self = end ?? .bearer(.linkEnded)
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
    case .bearer(let failure): failure.description
    case .link(let error): error.description
    case .disconnected(let peer): "\(peer) has disconnected"
    case .radio(let error): error.description
    case .connectTimeout(let endpoint, let time):
      "\(endpoint) did not answer within \(time); is it on, in range and connectable?"
    case .securityTimeout(let level, let time):
      "the link did not reach security \(level) within \(time); is there an agent to pair with,"
        + " at both ends?"
    case .insufficientSecurity(let response, let obstacle):
      "the peer answered \(response), and the link's security cannot be raised: \(obstacle)"
    case .pairing(let peer, .keyMissing):
      "\(peer) does not know the key of the earlier pairing: it has forgotten the bond; forget it "
        + "here too (atto unpair \(peer)) and pair again"
    case .pairing(let peer, let failure): "pairing with \(peer) failed: \(failure)"
    case .loop(let error): error.description
    case .database(let error): "\(error)"
    case .misuse(let misuse): misuse.description
    case .tooManyClients(let limit): "the server has \(limit) clients already"
    case .endpoint(let error): error.description
    case .cancelled: "cancelled"
    }
  }
}
