import Atto
import AttoATT
import AttoGATT

/// A Find Information Request, the shortest exchange with any server: returns the first handle of a range, as a range.
/// Vol 3, Part F, 3.4.3.1.
struct Ping: Procedure, Sendable {
  var range = HandleRange.all

  func encodeRequest(into out: inout OutputRawSpan) throws(ProcedureError) {
    FindInformationRequest(range).encode(into: &out)
  }

  func receive(
    _ response: borrowing PDU, mtu: Int
  ) throws(ProcedureError) -> Step<HandleRange> {
    switch response {
    case .findInformationResponse(let information):
      let handle = information[0].handle
      guard range.contains(handle), let first = HandleRange(handle, handle) else {
        throw .violation(.handleOutOfRange(handle, range))
      }
      return .finished(first)
    case .errorResponse(let error): throw .refused(error)
    default: throw .violation(.incompleteResponse(.findInformationRequest))
    }
  }
}
