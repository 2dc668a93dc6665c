import Atto
import AttoATT
import AttoEventLoop

extension ConnectionOptions {
  /// The options with a line of progress for discoveries, which may take thousands of requests: the
  /// handle at which the last request begins.
  func showingSearches(on loop: Loop) -> ConnectionOptions {
    let (line, monitor) = (LoopBound(ProgressLine(isShown: true), loop), monitor)
    var options = self
    options.monitor = { pdu in
      if pdu.direction == .sent {
        switch PDU(pdu.octets.span.bytes).searchedHandles {
        case let (start, end)?: line.value.show("discovering: handle \(start) of \(end)")
        case nil: line.value.clear()
        }
      }
      monitor?(pdu)
    }
    return options
  }
}

extension PDU {
  /// The first and the last handle of a request that searches a range.
  fileprivate var searchedHandles: (start: AttributeHandle, end: AttributeHandle)? {
    switch self {
    case .findInformationRequest(let request): (request.start, request.end)
    case .findByTypeValueRequest(let request): (request.start, request.end)
    case .readByTypeRequest(let request): (request.start, request.end)
    case .readByGroupTypeRequest(let request): (request.start, request.end)
    default: nil
    }
  }
}
