/// Why a bearer is dead: nothing more is sent on it, and every transaction has ended.
public enum BearerFailure: Error, Equatable, Sendable {
  /// No response, or no confirmation, within the transaction timeout. Vol 3, Part F, 3.3.3.
  case transactionTimeout(Opcode)
  /// The peer answered a request with a PDU that cannot be its answer, so that responses can
  /// no longer be told apart.
  case mismatchedResponse(request: Opcode, response: Opcode)
  /// The response to a request was malformed or longer than ATT_MTU.
  case malformedResponse(MalformedPDU)
  /// The peer sent more requests, unanswered, than the limit allows. Vol 3, Part F, 3.3.2
  /// allows one.
  case tooManyPipelinedRequests(limit: Int)
  /// The link under the bearer ended.
  case linkEnded
}

extension BearerFailure: CustomStringConvertible {
  public var description: String {
    switch self {
    case .transactionTimeout(.handleValueIndication):
      "the peer did not confirm an indication in time"
    case .transactionTimeout(let opcode): "no response to \(opcode) in time"
    case .mismatchedResponse(let request, let response):
      "the peer answered \(request) with \(response)"
    case .malformedResponse(let pdu): "the peer answered with \(pdu)"
    case .tooManyPipelinedRequests(let limit):
      "the peer sent more than \(limit) requests without waiting for a response"
    case .linkEnded: "the link ended"
    }
  }
}
