import AttoATT

/// Write Characteristic Value, and the same for a descriptor: one Write Request. Vol 3, Part G,
/// 4.9.3 and 4.12.3.
public struct WriteValue: Procedure, Sendable {
  /// The attribute.
  public let handle: AttributeHandle
  /// The octets to write.
  public let value: [UInt8]

  /// - Parameters:
  ///   - handle: the handle of a characteristic's value or of a descriptor.
  ///   - value: at most ATT_MTU - 3 octets, and at most 512. A longer one fails with
  ///     ``Misuse/valueTooLong(_:limit:)`` when the request is encoded.
  public init(_ handle: AttributeHandle, value: [UInt8]) {
    self.handle = handle
    self.value = value
  }

  public var footprint: Footprint? { Footprint(handle, isWrite: true) }

  public mutating func encodeRequest(into out: inout OutputRawSpan) throws(ProcedureError) {
    let limit = min(out.freeCapacity - WriteRequest.headerLength, ValueLength.limit)
    guard value.count <= limit else {
      throw .misuse(.valueTooLong(value.count, limit: limit))
    }
    WriteRequest.encode(handle, value.span.bytes, into: &out)
  }

  public mutating func receive(
    _ response: borrowing PDU, mtu: Int
  ) throws(ProcedureError) -> Step<Void> {
    switch response {
    case .writeResponse: return .finished(())
    case .errorResponse(let error): throw .refused(error)
    default: throw .violation(.incompleteResponse(.writeRequest))
    }
  }
}
