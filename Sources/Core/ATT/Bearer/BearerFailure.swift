/// Why a bearer has failed. It sends nothing more, and all its transactions have ended.
@nonexhaustive public enum BearerFailure: Error, Equatable, Sendable {
  /// No response, or no confirmation, within the transaction timeout. Vol 3, Part F, 3.3.3.
  case transactionTimeout(Opcode)
  /// The peer answered a request with a response to another one.
  case mismatchedResponse(request: Opcode, response: Opcode)
  /// The peer answered a request with an Error Response that names another one.
  case mismatchedError(request: Opcode, named: Opcode)
  /// The response to a request was malformed or longer than ATT_MTU.
  case malformedResponse(MalformedPDU)
  /// The peer sent more requests without waiting for a response than the limit allows. Vol 3, Part
  /// F, 3.3.2 allows one.
  case tooManyPipelinedRequests(limit: Int)
  /// The channel of an enhanced bearer ended. The connection and its other bearers continue.
  case channelEnded
  /// The link ended.
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
    case .mismatchedError(let request, let named):
      "the peer answered \(request) with an Error Response that names \(named)"
    case .malformedResponse(let pdu): "the peer answered with \(pdu)"
    case .tooManyPipelinedRequests(let limit):
      "the peer sent more than \(limit) requests without waiting for a response"
    case .channelEnded: "the channel was closed"
    case .linkEnded: "the link ended"
    }
  }
}
