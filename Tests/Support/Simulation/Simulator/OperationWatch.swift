import AttoATT
import AttoGATT

/// Checks that a procedure ends exactly once, with the result that follows from its PDUs.
final class OperationWatch: ExchangeRecord {
  unowned let end: LinkEnd
  /// The identifier in the session, once it has started.
  var id: TransactionID?
  private(set) var hasEnded = false
  var isCancelled = false
  /// The opcode of the last request.
  var lastOpcode: UInt8?
  /// The error with which it ended.
  private(set) var error: ProcedureError?

  init(_ name: String, _ end: LinkEnd) {
    self.end = end
    super.init(name)
  }

  /// Notes the end of the procedure. Reports a second one.
  func markEnd(_ error: ProcedureError?) {
    if hasEnded { end.fail("one end of each procedure", "\(name) ended twice") }
    hasEnded = true
    self.error = error
    end.operationEnded(self)
  }
}

/// An operation of the simulation, with a watch.
final class SimulatedOperation<P: Procedure>: ClientOperation {
  let watch: OperationWatch
  private let inner: RecordedOperation<P>
  /// Checks the result.
  private let check: (Result<P.Output, ProcedureError>, OperationWatch) -> Void

  init(
    _ procedure: P, _ watch: OperationWatch,
    check: @escaping (Result<P.Output, ProcedureError>, OperationWatch) -> Void
  ) {
    self.watch = watch
    self.check = check
    inner = RecordedOperation(procedure)
    super.init()
  }

  override var preparesWrites: Bool { inner.preparesWrites }

  override func encodeRequest(into out: inout OutputRawSpan) throws(ProcedureError) {
    try inner.encodeRequest(into: &out)
    watch.end.encoder = watch
    if out.byteCount > 0 { watch.lastOpcode = out.bytes.octet(at: 0) }
  }

  override func receive(_ response: borrowing PDU, mtu: Int) -> Bool {
    watch.end.responseGiven(to: watch)
    if watch.hasEnded {
      watch.end.fail("one end of each procedure", "\(watch.name) got a response after its end")
      return false
    }
    if inner.receive(response, mtu: mtu) { return true }
    finish()
    return false
  }

  override func cancel() -> Bool { inner.cancel() }

  override func fail(_ error: ProcedureError) {
    guard !watch.hasEnded else { return watch.markEnd(error) }
    inner.fail(error)
    finish()
  }

  private func finish() {
    guard let result = inner.result else {
      return watch.end.fail("one end of each procedure", "\(watch.name) ended without a result")
    }
    var error: ProcedureError?
    if case .failure(let failure) = result { error = failure }
    check(result, watch)
    watch.markEnd(error)
  }
}
