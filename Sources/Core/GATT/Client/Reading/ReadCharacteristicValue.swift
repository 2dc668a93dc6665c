import AttoATT

/// Read Characteristic Value, and the same for a descriptor: one Read Request. Vol 3, Part G,
/// 4.8.1 and 4.12.1.
///
/// Its output is the first ATT_MTU - 1 octets of the value. If it has exactly that length, use
/// ``ReadLongValue`` to find out whether there is more.
public struct ReadCharacteristicValue: Procedure, Sendable {
  /// The attribute.
  public let handle: AttributeHandle

  /// - Parameter handle: the handle of a characteristic's value or of a descriptor.
  public init(_ handle: AttributeHandle) { self.handle = handle }

  public var footprint: Footprint? { Footprint(handle, isWrite: false) }

  public mutating func encodeRequest(into out: inout OutputRawSpan) throws(ProcedureError) {
    ReadRequest(handle).encode(into: &out)
  }

  /// Throws ``ProtocolViolation/valueTooLong(_:_:)`` past 512 octets.
  public mutating func receive(
    _ response: borrowing PDU, mtu: Int
  ) throws(ProcedureError) -> Step<[UInt8]> {
    switch response {
    case .readResponse(let read):
      try ValueLength.check(read.value.byteCount, of: handle)
      return .finished(read.value.owned)
    case .errorResponse(let error): throw .refused(error)
    default: throw .violation(.incompleteResponse(.readRequest))
    }
  }
}
