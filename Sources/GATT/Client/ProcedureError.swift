import ATT

/// Why a procedure failed, told by whose fault it was.
public enum ProcedureError: Error, Equatable, Sendable {
  /// The peer answered with an ATT error. Unknown codes are kept.
  case refused(ErrorResponse)
  /// The peer broke the protocol.
  case violation(ProtocolViolation)
  /// The caller asked for what cannot be done.
  case misuse(Misuse)
  /// The bearer died before the procedure ended.
  case bearer(BearerFailure)
  /// The caller cancelled it.
  case cancelled
}

/// How a peer's response contradicts itself, the request or the specification.
public enum ProtocolViolation: Error, Equatable, Sendable {
  /// A handle that is 0x0000 or outside the range that was asked for.
  case handleOutOfRange(AttributeHandle, HandleRange)
  /// Handles that do not rise, so that discovery would not come to an end.
  case notAdvancing(AttributeHandle)
  /// A group that ends before it starts.
  case groupEndsBeforeStart(AttributeHandle, end: AttributeHandle)
  /// A group that begins inside another.
  case overlappingGroups(AttributeHandle)
  /// A declaration whose value has not the length it should have.
  case declarationLength(AttributeHandle, Int)
  /// The echo of a prepared write differs from what was sent. Vol 3, Part G, 4.9.5.
  case echoMismatch(AttributeHandle, offset: UInt16)
  /// A value longer than 512 octets. Vol 3, Part F, 3.2.9.
  case valueTooLong(AttributeHandle, Int)
  /// A response that does not hold what was asked for.
  case incompleteResponse(Opcode)
  /// What the peer says of this attribute is not what it said of it before.
  case contradiction(AttributeHandle)
  /// An attribute that only a service can hold, where there is no service.
  case outsideServices(AttributeHandle)
  /// More of something than the caller's limit allows.
  case limit(ProcedureLimit, Int)
}

/// What a procedure counts, so that no peer makes it grow without bound.
public enum ProcedureLimit: Equatable, Sendable {
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

/// A call that cannot be carried out, whatever the peer does.
public enum Misuse: Error, Equatable, Sendable {
  /// A value longer than the PDU, or an attribute, can hold.
  case valueTooLong(Int, limit: Int)
  /// The exchange of ATT_MTU takes place once per connection. Vol 3, Part F, 3.4.2.1.
  case mtuAlreadyExchanged
  /// An ATT_MTU outside 23 to 65535.
  case mtuOutOfRange(Int)
  /// Two or more handles are needed, and no more than fit ATT_MTU.
  case handleCount(Int, limit: Int)
  /// A handle of 0x0000.
  case invalidHandle
  /// Too many procedures wait on this bearer.
  case tooManyProcedures(limit: Int)
  /// Too many indications wait on this bearer.
  case tooManyIndications(limit: Int)
  /// The characteristic has neither of the properties that subscribing needs.
  case cannotSubscribe(AttributeHandle)
  /// The bearer does not offer this: signed writes and MTU exchange outside LE's fixed channel.
  case notOnThisBearer
}
