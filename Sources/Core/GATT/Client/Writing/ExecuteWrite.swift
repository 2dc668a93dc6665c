import AttoATT

/// One Execute Write Request: executes or drops the prepared writes. Vol 3, Part F, 3.4.6.3.
///
/// This is a single step for testing, after ``PrepareWrite``.
public struct ExecuteWrite: Procedure, Sendable {
  /// Whether the prepared writes are executed or dropped.
  public let request: ExecuteWriteRequest

  /// - Parameter request: `.write`, `.cancel` or invalid flags.
  public init(_ request: ExecuteWriteRequest) { self.request = request }

  public var footprint: Footprint? { Footprint(.all, isWrite: true) }

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
