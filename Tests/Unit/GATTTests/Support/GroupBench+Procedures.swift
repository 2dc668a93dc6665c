import AttoATT
import AttoGATT
import AttoSimulation
import TestSupport

extension GroupBench {
  @discardableResult func start<P: Procedure>(_ procedure: P) -> RecordedOperation<P> {
    startWithID(procedure).operation
  }

  func startWithID<P: Procedure>(
    _ procedure: P
  ) -> (operation: RecordedOperation<P>, id: TransactionID) {
    let operation = RecordedOperation(procedure)
    return (operation, group.start(operation, at: now))
  }
}
