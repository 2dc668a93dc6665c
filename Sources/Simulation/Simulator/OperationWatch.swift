import ATT
import GATT

/// What a run knows of one procedure: that it ends, once, and with what was on the wire.
class OperationWatch {
  let name: String
  unowned let end: LinkEnd
  /// Its name in the session, once it has started.
  var id: TransactionID?
  /// Requests with their responses, in order, as the wire had them.
  var exchanges: [(request: [UInt8], response: [UInt8])] = []
  private(set) var hasEnded = false
  var isCancelled = false
  /// The opcode of the last request.
  var lastOpcode: UInt8?
  /// What it ended with, once it has.
  private(set) var error: ProcedureError?

  init(_ name: String, _ end: LinkEnd) {
    self.name = name
    self.end = end
  }

  /// Marks the end. False if that has been told before.
  func markEnd(_ error: ProcedureError?) {
    if hasEnded { end.fail("one end of each procedure", "\(name) ended twice") }
    hasEnded = true
    self.error = error
    end.operationEnded(self)
  }
}

/// A procedure of the simulation: as an application's, with a watch on it.
final class SimulatedOperation<P: Procedure>: ClientOperation {
  let watch: OperationWatch
  private let inner: RecordedOperation<P>
  /// Judges what it ended with.
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
