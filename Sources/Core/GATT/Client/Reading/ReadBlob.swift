import AttoATT

/// One Read Blob Request: ATT_MTU - 1 octets of a value from an offset on. Vol 3, Part F,
/// 3.4.4.5.
///
/// A single step for testers; ``ReadLongValue`` reads a value to its end.
public struct ReadBlob: Procedure, Sendable {
  /// The attribute.
  public let handle: AttributeHandle
  /// Octets of the value to skip.
  public let offset: UInt16

  /// Reads the attribute from this offset on.
  public init(_ handle: AttributeHandle, offset: UInt16) {
    self.handle = handle
    self.offset = offset
  }

  public var footprint: Footprint? { Footprint(handle, isWrite: false) }

  public mutating func encodeRequest(into out: inout OutputRawSpan) throws(ProcedureError) {
    ReadBlobRequest(handle, offset: offset).encode(into: &out)
  }

  /// Throws ``ProtocolViolation/valueTooLong(_:_:)`` if there are octets past the 512th.
  public mutating func receive(
    _ response: borrowing PDU, mtu: Int
  ) throws(ProcedureError) -> Step<[UInt8]> {
    switch response {
    case .readBlobResponse(let blob):
      if blob.part.byteCount > 0 {
        try ValueLength.check(Int(offset) + blob.part.byteCount, of: handle)
      }
      return .finished(blob.part.owned)
    case .errorResponse(let error): throw .refused(error)
    default: throw .violation(.incompleteResponse(.readBlobRequest))
    }
  }
}
