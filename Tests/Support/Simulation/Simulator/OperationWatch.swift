import AttoATT
import AttoGATT

/// Checks that a procedure ends exactly once, with the result that follows from its PDUs.
final class OperationWatch: ExchangeRecord {
  /// The bearer of its last request.
  var end: LinkEnd
  /// The bearer that carries it out; nil while it waits for one.
  var carrier: LinkEnd? {
    didSet { if oldValue == nil { place = end.side.nextNumber() } }
  }
  /// When it got its bearer, in the order of the calls.
  private(set) var place = Int.max
  /// The bearers that had failed when it was started.
  let deadBearers: [Int]
  /// Its place in the order of the calls.
  let number: Int
  /// nil after its end.
  var operation: ClientOperation? {
    didSet { if let operation { preparesWrites = operation.preparesWrites } }
  }
  private(set) var preparesWrites = false
  private var lastFootprint: Footprint?
  /// The identifier in the session, once it has started.
  var id: TransactionID?
  private(set) var hasEnded = false
  /// Whether it has its result, which is being checked.
  var isEnding = false
  var isCancelled = false
  /// The opcode of the last request.
  var lastOpcode: UInt8?
  /// The error with which it ended.
  private(set) var error: ProcedureError?

  init(_ name: String, _ end: LinkEnd, number: Int) {
    self.end = end
    self.number = number
    deadBearers = end.side.ends.filter { !$0.isUsable }.map(\.index)
    super.init(name)
  }

  /// The values that it accesses; those of its last request after its end.
  var footprint: Footprint? { hasEnded ? lastFootprint : operation?.footprint }

  /// Whether it has prepared writes and not executed them yet.
  var hasPrepared: Bool { lastOpcode == 0x16 }

  /// Whether its request is unanswered, even if it was cancelled.
  var isInFlight: Bool {
    guard let carrier, !carrier.isClosed else { return false }
    return carrier.judge.request?.owner === self
  }

  func noteRequest(_ pdu: [UInt8]) {
    lastOpcode = pdu.first
    lastFootprint = operation?.footprint
    end.side.noteEncoded(self, pdu)
  }

  /// Notes the end of the procedure. Reports a second one.
  func markEnd(_ error: ProcedureError?) {
    if hasEnded { end.fail("one end of each procedure", "\(name) ended twice") }
    hasEnded = true
    operation = nil
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
  override var footprint: Footprint? { inner.footprint }

  override func encodeRequest(into out: inout OutputRawSpan) throws(ProcedureError) {
    try inner.encodeRequest(into: &out)
    watch.noteRequest(out.bytes.owned)
  }

  override func receive(_ response: borrowing PDU, mtu: Int) -> Bool {
    watch.end.device.current?.responseGiven(to: watch)
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
    watch.end.side.checkFailure(error, of: watch)
    inner.fail(error)
    finish()
  }

  private func finish() {
    watch.isEnding = true
    guard let result = inner.result else {
      return watch.end.fail("one end of each procedure", "\(watch.name) ended without a result")
    }
    var error: ProcedureError?
    if case .failure(let failure) = result { error = failure }
    check(result, watch)
    watch.markEnd(error)
  }
}
