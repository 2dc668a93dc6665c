import ATT

/// One Execute Write Request: writes or drops what has been prepared. Vol 3, Part F, 3.4.6.3.
///
/// A single step for testers, after ``PrepareWrite``.
public struct ExecuteWrite: Procedure, Sendable {
  /// Whether what was prepared is written or dropped.
  public let request: ExecuteWriteRequest

  /// - Parameter request: `.write` or `.cancel`; other flags mean nothing, but can be sent.
  public init(_ request: ExecuteWriteRequest) { self.request = request }

  public mutating func encodeRequest(into out: inout OutputRawSpan) throws(ProcedureError) {
    request.encode(into: &out)
  }

  public mutating func receive(
    _ response: borrowing PDU, mtu: Int
  ) throws(ProcedureError) -> Step<Void> {
    switch response {
    case .executeWriteResponse: return .finished(())
    case .errorResponse(let error): throw .refused(error)
    default: throw .violation(.incompleteResponse(.executeWriteRequest))
    }
  }
}
