import AttoATT

/// Why a procedure failed, by whose fault it was.
@nonexhaustive public enum ProcedureError: Error, Equatable, Sendable {
  /// The peer answered with an ATT error, whose code may be unknown.
  case refused(ErrorResponse)
  /// The peer broke the protocol.
  case violation(ProtocolViolation)
  /// The peer has more of something than the caller's limit allows, which is no fault of the peer.
  case limit(ProcedureLimit, Int)
  /// The caller asked for something impossible.
  case misuse(Misuse)
  /// The bearer failed before the procedure ended.
  case bearer(BearerFailure)
  /// The enhanced bearer failed before the procedure ended; other bearers continue.
  case enhancedBearer(BearerFailure)
  /// The caller cancelled the procedure.
  case cancelled
}

/// How a response of the peer contradicts itself, the request or the specification.
@nonexhaustive public enum ProtocolViolation: Error, Equatable, Sendable {
  /// A handle is 0x0000 or outside the requested range.
  case handleOutOfRange(AttributeHandle, HandleRange)
  /// Handles do not increase, so that discovery might not end.
  case notAdvancing(AttributeHandle)
  /// A group ends before it starts.
  case groupEndsBeforeStart(AttributeHandle, end: AttributeHandle)
  /// A group starts inside another one.
  case overlappingGroups(AttributeHandle)
  /// The value of a declaration has the wrong length.
  case declarationLength(AttributeHandle, Int)
  /// The echo of a prepared write differs from the request. Vol 3, Part G, 4.9.5.
  case echoMismatch(AttributeHandle, offset: UInt16)
  /// A value is longer than 512 octets. Vol 3, Part F, 3.2.9.
  case valueTooLong(AttributeHandle, Int)
  /// A response does not contain what was requested.
  case incompleteResponse(Opcode)
  /// The response contradicts earlier ones about this attribute.
  case contradiction(AttributeHandle)
  /// An attribute that must be in a service is outside of all services.
  case outsideServices(AttributeHandle)
}

/// A limit of a procedure, so that the peer cannot make it grow without bound.
@nonexhaustive public enum ProcedureLimit: Equatable, Sendable {
  /// ``DiscoveryLimits/services``.
  case services
  /// ``DiscoveryLimits/includes``.
  case includes
  /// ``DiscoveryLimits/characteristics``.
  case characteristics
  /// ``DiscoveryLimits/descriptors``.
  case descriptors
  /// ``DiscoveryLimits/values``.
  case values
  /// ``DiscoveryLimits/requests``.
  case requests
}

/// A call that is invalid, whatever the peer does.
@nonexhaustive public enum Misuse: Error, Equatable, Sendable {
  /// The value is too long for the PDU or the attribute.
  case valueTooLong(Int, limit: Int)
  /// ATT_MTU was already exchanged on this connection. Vol 3, Part F, 3.4.2.1.
  case mtuAlreadyExchanged
  /// The ATT_MTU is not between 23 and 65535.
  case mtuOutOfRange(Int)
  /// Fewer than two handles, or more than fit into ATT_MTU.
  case handleCount(Int, limit: Int)
  /// Too many procedures are queued on this bearer.
  case tooManyProcedures(limit: Int)
  /// Too many indications are queued on this bearer.
  case tooManyIndications(limit: Int)
  /// The characteristic has neither the notify nor the indicate property.
  case cannotSubscribe(AttributeHandle)
  /// Signed writes and the MTU exchange exist only on the fixed channel of LE.
  case notOnThisBearer
}
