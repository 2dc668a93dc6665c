import AttoATT
import AttoGATT
import AttoSimulation
import TestSupport

extension TestSession {
  /// Starts a procedure. ``sent`` has its requests.
  func start<P: Procedure>(_ procedure: P) -> RecordedOperation<P> {
    let operation = RecordedOperation(procedure)
    session.start(operation, at: now)
    return operation
  }

  /// A procedure whose request, which is passed over, gets these responses.
  func perform<P: Procedure>(_ procedure: P, _ responses: String...) -> Result<
    P.Output, ProcedureError
  >? {
    let operation = start(procedure)
    _ = sent
    for response in responses { send(response) }
    return operation.result
  }
}

extension GroupBench {
  /// Starts a procedure on a bearer with the least to do.
  func start<P: Procedure>(_ procedure: P) -> RecordedOperation<P> {
    let operation = RecordedOperation(procedure)
    group.start(operation, at: now)
    return operation
  }
}
