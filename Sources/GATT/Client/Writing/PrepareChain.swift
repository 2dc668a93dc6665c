import ATT

/// Prepare Write Requests for all parts of some values, then an Execute Write Request: what
/// ``WriteLongValue`` and ``ReliableWrites`` have in common. Vol 3, Part F, 3.4.6.
///
/// | Phase | Request | Response | Next |
/// |---|---|---|---|
/// | preparing | Prepare Write | exact echo | preparing, or executing after the last part |
/// | preparing | Prepare Write | anything else | cancelling |
/// | preparing | `cancel()` | | cancelling, if anything has been sent |
/// | executing | Execute Write, write | Execute Write Response | finished |
/// | executing | Execute Write, write | Error Response | throws: the server has dropped the queue |
/// | cancelling | Execute Write, cancel | anything | throws what led here |
///
/// The queue on the server belongs to the client, and the next procedure on any of its bearers
/// would find in it what this one left. So whatever goes wrong while preparing, the queue is
/// dropped before the error is told.
struct PrepareChain: Sendable {
  private enum Phase: Sendable {
    case preparing
    case executing
    case cancelling(ProcedureError)
  }

  private let writes: [LongWrite]
  private var phase: Phase
  /// The write that is being prepared.
  private var index = 0
  /// Octets of it whose echo has come.
  private var echoed = 0
  /// Octets of the part on the wire.
  private var partLength = 0
  /// Whether a request is on the wire.
  private var isWaiting = false
  private var hasSent = false
  /// Cancelled while a part was on the wire: its response decides nothing any more.
  private var isCancelled = false

  init(_ writes: [LongWrite]) {
    self.writes = writes
    // Nothing to prepare: an empty queue may be executed.
    phase = writes.isEmpty ? .executing : .preparing
  }

  mutating func encodeRequest(into out: inout OutputRawSpan) throws(ProcedureError) {
    switch phase {
    case .preparing:
      if !hasSent { try check() }
      let write = writes[index]
      partLength = min(
        write.value.count - echoed, out.freeCapacity - PrepareWriteRequest.headerLength)
      PrepareWriteRequest.encode(
        write.handle, offset: offset, write.value.span.bytes.extracting(partRange), into: &out)
    case .executing: ExecuteWriteRequest.write.encode(into: &out)
    case .cancelling: ExecuteWriteRequest.cancel.encode(into: &out)
    }
    hasSent = true
    isWaiting = true
  }

  mutating func receive(_ response: borrowing PDU) throws(ProcedureError) -> Step<Void> {
    isWaiting = false
    switch phase {
    case .preparing:
      switch response {
      case .prepareWriteResponse(let echo): return advance(past: echo)
      case .errorResponse(let error): return giveUp(.refused(error))
      default: return giveUp(.violation(.incompleteResponse(.prepareWriteRequest)))
      }
    case .executing:
      switch response {
      case .executeWriteResponse: return .finished(())
      case .errorResponse(let error): throw .refused(error)
      default: throw .violation(.incompleteResponse(.executeWriteRequest))
      }
    case .cancelling(let error):
      // What the server says of this changes nothing: there is nothing more to be done.
      throw error
    }
  }

  /// See ``Procedure/cancel()``. An Execute Write Request on the wire cannot be called back.
  mutating func cancel() -> Bool {
    switch phase {
    case .preparing:
      guard hasSent else { return false }
      if isWaiting { isCancelled = true } else { phase = .cancelling(.cancelled) }
      return true
    case .executing:
      guard hasSent, !isWaiting else { return false }
      phase = .cancelling(.cancelled)
      return true
    case .cancelling: return true
    }
  }

  private var offset: UInt16 {
    // `check` has seen that offset and length stay within 512 together.
    writes[index].offset + UInt16(echoed)
  }

  private var partRange: Range<Int> { echoed..<echoed + partLength }

  private mutating func advance(past echo: borrowing PrepareWriteResponse) -> Step<Void> {
    if isCancelled { return giveUp(.cancelled) }
    let write = writes[index]
    guard echo.handle == write.handle, echo.offset == offset,
      echo.part.isEqual(to: write.value.span.bytes.extracting(partRange))
    else {
      return giveUp(.violation(.echoMismatch(write.handle, offset: offset)))
    }
    echoed += partLength
    if echoed == write.value.count {
      index += 1
      echoed = 0
    }
    if index == writes.count { phase = .executing }
    return .request
  }

  private mutating func giveUp(_ error: ProcedureError) -> Step<Void> {
    phase = .cancelling(isCancelled ? .cancelled : error)
    return .request
  }

  private func check() throws(ProcedureError) {
    for write in writes {
      guard write.handle.isValid else { throw .misuse(.invalidHandle) }
      let end = Int(write.offset) + write.value.count
      guard end <= ValueLength.limit else {
        throw .misuse(.valueTooLong(end, limit: ValueLength.limit))
      }
    }
  }
}
