import AttoATT

/// Read Multiple Characteristic Values: several values of known lengths with one request. Vol 3,
/// Part G, 4.8.4.
///
/// Its output is the values without separators, cut at the end of the PDU.
public struct ReadMultiple: Procedure, Sendable {
  /// The attributes to read, in this order.
  public let handles: [AttributeHandle]
  private var requestMTU = 0

  public struct Output: Equatable, Sendable {
    /// The values in the order of the handles.
    public let octets: [UInt8]
    /// The response is as long as ATT_MTU allows, so the last values may be cut or missing.
    public let mayBeCut: Bool
  }

  /// - Parameter handles: 2 to (ATT_MTU - 1) / 2 handles.
  public init(_ handles: [AttributeHandle]) { self.handles = handles }

  public var footprint: Footprint? { Footprint(handles, isWrite: false) }

  public mutating func encodeRequest(into out: inout OutputRawSpan) throws(ProcedureError) {
    requestMTU = out.freeCapacity
    try Self.check(handles, mtu: requestMTU)
    ReadMultipleRequest.encode(handles, into: &out)
  }

  public mutating func receive(
    _ response: borrowing PDU, mtu: Int
  ) throws(ProcedureError) -> Step<Output> {
    switch response {
    case .readMultipleResponse(let read):
      let isFull = read.values.byteCount >= min(mtu, requestMTU) - 1
      return .finished(Output(octets: read.values.owned, mayBeCut: isFull))
    case .errorResponse(let error): throw .refused(error)
    default: throw .violation(.incompleteResponse(.readMultipleRequest))
    }
  }

  /// Throws ``Misuse/handleCount(_:limit:)``.
  static func check(_ handles: [AttributeHandle], mtu: Int) throws(ProcedureError) {
    let limit = (mtu - 1) / 2
    guard handles.count >= 2, handles.count <= limit else {
      throw .misuse(.handleCount(handles.count, limit: limit))
    }
  }
}
