import AttoATT

/// One Prepare Write Request: queues a part of a value on the server. Vol 3, Part F, 3.4.6.1.
///
/// This is a single step for testing, which leaves the part in the queue even if the echo is wrong.
/// ``WriteLongValue`` and ``ReliableWrites`` clear the queue after an error.
public struct PrepareWrite: Procedure, Sendable {
  /// The attribute.
  public let handle: AttributeHandle
  /// The offset of the part in the value.
  public let offset: UInt16
  /// The octets to prepare.
  public let part: [UInt8]

  /// - Parameters:
  ///   - handle: the handle of a characteristic's value or of a descriptor.
  ///   - offset: the offset of the part, which may exceed 512.
  ///   - part: at most ATT_MTU - 5 octets. A longer one fails with
  ///     ``Misuse/valueTooLong(_:limit:)`` when the request is encoded.
  public init(_ handle: AttributeHandle, offset: UInt16, part: [UInt8]) {
    self.handle = handle
    self.offset = offset
    self.part = part
  }

  public var footprint: Footprint? { Footprint(.all, isWrite: true) }

  public mutating func encodeRequest(into out: inout OutputRawSpan) throws(ProcedureError) {
    let limit = out.freeCapacity - PrepareWriteRequest.headerLength
    guard part.count <= limit else { throw .misuse(.valueTooLong(part.count, limit: limit)) }
    PrepareWriteRequest.encode(handle, offset: offset, part.span.bytes, into: &out)
  }

  /// Throws ``ProtocolViolation/echoMismatch(_:offset:)`` unless the echo is exact.
  public mutating func receive(
    _ response: borrowing PDU, mtu: Int
  ) throws(ProcedureError) -> Step<Void> {
    switch response {
    case .prepareWriteResponse(let echo):
      guard echo.handle == handle, echo.offset == offset, echo.part.isEqual(to: part.span.bytes)
      else { throw .violation(.echoMismatch(handle, offset: offset)) }
      return .finished(())
    case .errorResponse(let error): throw .refused(error)
    default: throw .violation(.incompleteResponse(.prepareWriteRequest))
    }
  }
}
