import ATT

/// Read Multiple Variable Length Characteristic Values: several values with their lengths, with
/// one request. Vol 3, Part G, 4.8.5.
///
/// Its output is one value for each handle, in their order. The PDU may end in mid-value, which
/// is then marked; values for which there was no room at all are missing at the end. A server
/// that leaves out values though there was room breaks the protocol.
public struct ReadMultipleVariable: Procedure, Sendable {
  /// The attributes, in the order in which their values are wanted.
  public let handles: [AttributeHandle]
  private var requestMTU = 0

  /// One of the values.
  public struct Value: Equatable, Sendable {
    /// The attribute.
    public let handle: AttributeHandle
    /// The octets that came.
    public let octets: [UInt8]
    /// The length that the server says the value has. Of a cut value it proves nothing.
    public let statedLength: Int
    /// Whether fewer octets came than the server says there are.
    public var isCut: Bool { octets.count < statedLength }
  }

  /// - Parameter handles: two or more, and no more than fit ATT_MTU: (ATT_MTU - 1) / 2.
  public init(_ handles: [AttributeHandle]) { self.handles = handles }

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
    // A next value would have needed two octets for its length.
    guard values.count == handles.count || used + 2 > mtu else {
      throw .violation(.incompleteResponse(.readMultipleVariableRequest))
    }
    return values
  }
}
