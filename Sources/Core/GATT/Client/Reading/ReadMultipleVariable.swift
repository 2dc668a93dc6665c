import AttoATT

/// Read Multiple Variable Length Characteristic Values: several values with their lengths, with
/// one request. Vol 3, Part G, 4.8.5.
///
/// Its output is one value for each handle, in the same order. The last value may be cut, and
/// values that did not fit are missing. A server that omits values that would fit breaks the
/// protocol.
public struct ReadMultipleVariable: Procedure, Sendable {
  /// The attributes to read, in this order.
  public let handles: [AttributeHandle]
  private var requestMTU = 0

  /// One of the values.
  public struct Value: Equatable, Sendable {
    /// The attribute.
    public let handle: AttributeHandle
    /// The octets received.
    public let octets: [UInt8]
    /// The length of the value according to the server.
    public let statedLength: Int
    /// Whether fewer octets were received than the server states.
    public var isCut: Bool { octets.count < statedLength }
  }

  /// - Parameter handles: 2 to (ATT_MTU - 1) / 2 handles.
  public init(_ handles: [AttributeHandle]) { self.handles = handles }

  public var footprint: Footprint? { Footprint(handles, isWrite: false) }

  public mutating func encodeRequest(into out: inout OutputRawSpan) throws(ProcedureError) {
    requestMTU = out.freeCapacity
    try ReadMultiple.check(handles, mtu: requestMTU)
    ReadMultipleVariableRequest.encode(handles, into: &out)
  }

  /// Throws ``ProtocolViolation/incompleteResponse(_:)`` for too many or too few values, and
  /// ``ProtocolViolation/valueTooLong(_:_:)`` for one of more than 512 octets.
  public mutating func receive(
    _ response: borrowing PDU, mtu: Int
  ) throws(ProcedureError) -> Step<[Value]> {
    switch response {
    case .readMultipleVariableResponse(let read):
      return .finished(try values(of: read, mtu: min(mtu, requestMTU)))
    case .errorResponse(let error): throw .refused(error)
    default: throw .violation(.incompleteResponse(.readMultipleVariableRequest))
    }
  }

  private func values(
    of response: borrowing ReadMultipleVariableResponse, mtu: Int
  ) throws(ProcedureError) -> [Value] {
    var values: [Value] = []
    values.reserveCapacity(handles.count)
    var used = 1
    var list = response.makeIterator()
    while let value = list.next() {
      guard values.count < handles.count else {
        throw .violation(.incompleteResponse(.readMultipleVariableRequest))
      }
      let handle = handles[values.count]
      try ValueLength.check(value.octets.byteCount, of: handle)
      values.append(
        Value(handle: handle, octets: value.octets.owned, statedLength: value.stated))
      used += 2 + value.octets.byteCount
    }
    // Another value needs at least two octets, for its length.
    guard values.count == handles.count || used + 2 > mtu else {
      throw .violation(.incompleteResponse(.readMultipleVariableRequest))
    }
    return values
  }
}
