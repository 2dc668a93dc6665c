import Atto
import AttoATT
import AttoEventLoop

extension ConnectionOptions {
  /// The options with a line of progress for procedures that may take many requests: the handle at which
  /// the last request of a discovery begins, or the offset in a long value.
  package func showingProgress(on loop: Loop) -> ConnectionOptions {
    let (line, monitor) = (LoopBound(ProgressLine(isShown: true), loop), monitor)
    var options = self
    options.monitor = { pdu in
      if pdu.direction == .sent {
        if let step = PDU(pdu.octets.span.bytes).step {
          line.value.show(step)
        } else {
          line.value.clear()
        }
      }
      monitor?(pdu)
    }
    return options
  }
}

extension PDU {
  /// How far a procedure is with this request; nil for requests that are alone.
  fileprivate var step: String? {
    switch self {
    case .findInformationRequest(let request): discovery(request.start, request.end)
    case .findByTypeValueRequest(let request): discovery(request.start, request.end)
    case .readByTypeRequest(let request): discovery(request.start, request.end)
    case .readByGroupTypeRequest(let request): discovery(request.start, request.end)
    case .readRequest(let request): "reading \(request.handle)"
    case .readBlobRequest(let request): "reading \(request.handle): octet \(request.offset)"
    case .prepareWriteRequest(let request): "writing \(request.handle): octet \(request.offset)"
    default: nil
    }
  }

  private func discovery(_ start: AttributeHandle, _ end: AttributeHandle) -> String {
    "discovering: handle \(start) of \(end)"
  }
}
