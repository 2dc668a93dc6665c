import AttoATT

/// Prepare Write Requests for all parts of some values, then an Execute Write Request. Shared by
/// ``WriteLongValue`` and ``ReliableWrites``. Vol 3, Part F, 3.4.6.
///
/// | Phase | Request | Response | Next |
/// |---|---|---|---|
/// | preparing | Prepare Write | exact echo | preparing, or executing after the last part |
/// | preparing | Prepare Write | anything else | cancelling |
/// | preparing | `cancel()` | | cancelling, if anything has been sent |
/// | executing | Execute Write, write | Execute Write Response | finished |
/// | executing | Execute Write, write | Error Response | throws, queue dropped by the server |
/// | cancelling | Execute Write, cancel | anything | throws the error that led here |
///
/// The queue on the server belongs to the client. If one procedure left something in it, the next
/// one on any bearer would execute it. So after an error while preparing, the queue is dropped
/// before the procedure throws.
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
  /// The number of its octets that the server has echoed.
  private var echoed = 0
  /// The length of the part in flight.
  private var partLength = 0
  /// Whether a request is in flight.
  private var isWaiting = false
  private var hasSent = false
  /// Whether it was cancelled while a part was in flight, whose response no longer matters.
  private var isCancelled = false

  init(_ writes: [LongWrite]) {
    self.writes = writes
    // Nothing to prepare. An empty queue may be executed.
    phase = writes.isEmpty ? .executing : .preparing
  }

  var footprint: Footprint? { Footprint(writes.lazy.map { $0.handle }, isWrite: true) }

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
      // The response does not matter, because nothing more can be done.
      throw error
    }
  }

  /// See ``Procedure/cancel()``. An Execute Write Request in flight cannot be cancelled.
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
    // `check` has limited the sum of offset and length to 512.
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
      let end = Int(write.offset) + write.value.count
      guard end <= ValueLength.limit else {
        throw .misuse(.valueTooLong(end, limit: ValueLength.limit))
      }
    }
  }
}
