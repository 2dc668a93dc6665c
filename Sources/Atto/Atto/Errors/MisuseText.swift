import AttoATT
import AttoGATT

extension Misuse: CustomStringConvertible {
  public var description: String {
    switch self {
    case .valueTooLong(let count, let limit):
      "value too long: \(count) octets (the limit is \(limit))"
        + (limit < ValueLimits.longest ? "; a long write (writeLong) takes up to 512" : "")
    case .mtuAlreadyExchanged: "the MTU was exchanged already: once per connection is allowed"
    case .mtuOutOfRange(let mtu): "invalid MTU \(mtu): expected 23 to 65535"
    case .handleCount(let count, let limit):
      "cannot read \(count) handles at once: expected 2 to \(limit)"
    case .tooManyProcedures(let limit):
      "too many procedures wait on this connection: the limit is \(limit)"
    case .tooManyIndications(let limit):
      "too many indications wait on this connection: the limit is \(limit)"
    case .cannotSubscribe(let handle):
      "cannot subscribe to \(handle): it supports neither notifications nor indications, or has no"
        + " Client Characteristic Configuration"
    case .notOnThisBearer: "not supported on this kind of bearer"
    }
  }
}

extension ProtocolViolation: CustomStringConvertible {
  public var description: String {
    switch self {
    case .handleOutOfRange(let handle, let range):
      "a response has handle \(handle), which is not in \(range)"
    case .notAdvancing(let handle): "the handles of a response do not increase at \(handle)"
    case .groupEndsBeforeStart(let start, let end):
      "the group at \(start) ends before it starts, at \(end)"
    case .overlappingGroups(let handle): "the group at \(handle) begins inside another group"
    case .declarationLength(let handle, let count):
      "the declaration at \(handle) has an invalid length of \(count) octets"
    case .echoMismatch(let handle, let offset):
      "the response to the prepared write to \(handle) at offset \(offset) differs from it"
    case .valueTooLong(let handle, let count):
      "the value at \(handle) has \(count) octets or more (the limit is 512)"
    case .incompleteResponse(let opcode): "a \(opcode) lacks what was requested"
    case .contradiction(let handle):
      "a response about handle \(handle) contradicts an earlier one"
    case .outsideServices(let handle): "handle \(handle) is not in any service"
    }
  }
}
