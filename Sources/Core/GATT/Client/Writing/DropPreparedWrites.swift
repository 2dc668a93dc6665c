import AttoATT

/// An Execute Write Request that drops the prepared writes, for those that a bearer left behind.
/// Other operations that prepare writes wait for it.
struct DropPreparedWrites: Procedure {
  static var preparesWrites: Bool { true }

  mutating func encodeRequest(into out: inout OutputRawSpan) throws(ProcedureError) {
    ExecuteWriteRequest.cancel.encode(into: &out)
  }

  mutating func receive(
    _ response: borrowing PDU, mtu: Int
  ) throws(ProcedureError) -> Step<Void> {
    .finished(())
  }
}
