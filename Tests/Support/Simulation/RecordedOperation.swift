import AttoATT
import AttoGATT

/// An operation that stores the result of its procedure.
public final class RecordedOperation<P: Procedure>: ProcedureOperation<P> {
  /// The result; nil until the procedure has ended.
  public private(set) var result: Result<P.Output, ProcedureError>?

  public override init(_ procedure: P) { super.init(procedure) }

  public override func finish(_ result: Result<P.Output, ProcedureError>) {
    precondition(self.result == nil, "a procedure ends once")
    self.result = result
  }
}

extension Pair {
  /// Runs a procedure at the left end.
  ///
  /// - Returns: its result; nil if the peer did not answer, because no time passes.
  public func perform<P: Procedure>(_ procedure: P) -> Result<P.Output, ProcedureError>? {
    let operation = RecordedOperation(procedure)
    left.session.start(operation, at: now)
    run()
    return operation.result
  }
}
