import Atto

/// The shortest exchange that every server answers: Find Information about the first handle.
/// Vol 3, Part F, 3.4.3.1. An Error Response answers it as well.
struct Ping: Procedure, Sendable {
  func encodeRequest(into out: inout OutputRawSpan) throws(ProcedureError) {
    FindInformationRequest(HandleRange.all.first).encode(into: &out)
  }

  func receive(
    _ response: borrowing PDU, mtu: Int
  ) throws(ProcedureError) -> Step<Void> { .finished(()) }
}

extension HandleRange {
  /// The range of its first handle alone.
  fileprivate var first: HandleRange { HandleRange(start, start) ?? self }
}
