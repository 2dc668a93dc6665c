import ATT
import GATT

/// A procedure whose result is kept for whoever looks.
public final class RecordedOperation<P: Procedure>: ProcedureOperation<P> {
  /// nil until the procedure has ended.
  public private(set) var result: Result<P.Output, ProcedureError>?

  public override init(_ procedure: P) { super.init(procedure) }

  public override func finish(_ result: Result<P.Output, ProcedureError>) {
    precondition(self.result == nil, "a procedure ends once")
    self.result = result
  }
}

extension Pair {
  /// Runs a procedure on the left to its end.
  ///
  /// - Returns: its result; nil if the peer never answered and time was not moved.
  public func perform<P: Procedure>(_ procedure: P) -> Result<P.Output, ProcedureError>? {
    let operation = RecordedOperation(procedure)
    left.session.start(operation, at: now)
    run()
    return operation.result
  }
}
