import ATT
import GATT

extension Misuse: CustomStringConvertible {
  public var description: String {
    switch self {
    case .valueTooLong(let count, let limit):
      "a value of \(count) octets does not fit: \(limit) is the limit"
    case .mtuAlreadyExchanged: "the MTU is exchanged once per connection, and it was"
    case .mtuOutOfRange(let mtu): "an MTU is 23 to 65535, not \(mtu)"
    case .handleCount(let count, let limit):
      "\(count) handles cannot be asked for at once: 2 to \(limit) can"
    case .invalidHandle: "0x0000 is no handle"
    case .tooManyProcedures(let limit): "\(limit) procedures wait on this connection already"
    case .tooManyIndications(let limit): "\(limit) indications wait on this connection already"
    case .cannotSubscribe(let handle):
      "the characteristic at \(handle) can neither notify nor indicate, or has no"
        + " Client Characteristic Configuration"
    case .notOnThisBearer: "this kind of bearer does not offer it"
    }
  }
}

extension ProtocolViolation: CustomStringConvertible {
  public var description: String {
    switch self {
    case .handleOutOfRange(let handle, let range):
      "it answered with handle \(handle), which is not in \(range)"
    case .notAdvancing(let handle): "its handles do not rise at \(handle)"
    case .groupEndsBeforeStart(let start, let end):
      "the group at \(start) ends before it starts, at \(end)"
    case .overlappingGroups(let handle): "the group at \(handle) begins inside another"
    case .declarationLength(let handle, let count):
      "the declaration at \(handle) has \(count) octets, which is not its form"
    case .echoMismatch(let handle, let offset):
      "it echoed another part than was sent to \(handle) at offset \(offset)"
    case .valueTooLong(let handle, let count):
      "the value at \(handle) has \(count) octets or more; 512 is the limit"
    case .incompleteResponse(let opcode): "its \(opcode) does not hold what was asked for"
    case .contradiction(let handle):
      "what it says of handle \(handle) contradicts what it said before"
    case .outsideServices(let handle): "handle \(handle) is not in any service"
    case .limit(let what, let limit): "it listed more than \(limit) \(what)"
    }
  }
}
