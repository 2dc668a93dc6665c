import AttoATT

/// Read Long Characteristic Values, and the same for descriptors: reads a whole value. Vol 3,
/// Part G, 4.8.3 and 4.12.2.
///
/// The first request is a Read Request, or a Read Blob Request if reading starts at an offset. Read
/// Blob Requests follow, each from the end of the previous part. A part shorter than ATT_MTU - 1
/// octets is the last one. If ATT_MTU grew while a request was in flight, the smaller one counts,
/// because the response may have been built before. This may cost one request with an empty part.
///
/// After a full part the server may also answer with an error:
/// - Invalid Offset (0x07) ends the value. An empty part would be correct, but some servers answer
///   this way. The value may also have become shorter meanwhile; the two cases cannot be
///   distinguished, and a long read is never protected from changes between its requests.
/// - Attribute Not Long (0x0B) ends the value after one part from offset 0: it has ATT_MTU - 1
///   octets. Later it contradicts the previous parts and is an error.
///
/// All other errors are errors. Limit: 512 octets, so at most 24 requests at an ATT_MTU of 23.
public struct ReadLongValue: Procedure, Sendable {
  /// The attribute.
  public let handle: AttributeHandle
  /// The number of octets to skip.
  public let offset: UInt16

  private var value: [UInt8] = []
  private var parts = 0
  /// ATT_MTU when the last request was encoded.
  private var requestMTU = 0

  /// - Parameters:
  ///   - handle: the handle of a characteristic's value or of a descriptor.
  ///   - offset: the number of octets to skip.
  public init(_ handle: AttributeHandle, offset: UInt16 = 0) {
    self.handle = handle
    self.offset = offset
  }

  private var nextOffset: Int { Int(offset) + value.count }
  private var isFirst: Bool { parts == 0 }
  private var opcode: Opcode { isFirst && offset == 0 ? .readRequest : .readBlobRequest }

  public var footprint: Footprint? { Footprint(handle, isWrite: false) }

  public mutating func encodeRequest(into out: inout OutputRawSpan) throws(ProcedureError) {
    requestMTU = out.freeCapacity
    if opcode == .readRequest {
      ReadRequest(handle).encode(into: &out)
    } else {
      // `receive` limits the offset to 512, unless the caller passed a larger one.
      ReadBlobRequest(handle, offset: UInt16(nextOffset)).encode(into: &out)
    }
  }

  /// Throws ``ProtocolViolation/valueTooLong(_:_:)`` if there are octets past the 512th.
  public mutating func receive(
    _ response: borrowing PDU, mtu: Int
  ) throws(ProcedureError) -> Step<[UInt8]> {
    switch response {
    case .readResponse(let read) where opcode == .readRequest:
      return try append(read.value, mtu: mtu)
    case .readBlobResponse(let blob) where opcode == .readBlobRequest:
      return try append(blob.part, mtu: mtu)
    case .errorResponse(let error):
      guard endsValue(error.code) else { throw .refused(error) }
      return .finished(value)
    default: throw .violation(.incompleteResponse(opcode))
    }
  }

  private mutating func append(
    _ part: RawSpan, mtu: Int
  ) throws(ProcedureError) -> Step<[UInt8]> {
    if part.byteCount > 0 { try ValueLength.check(nextOffset + part.byteCount, of: handle) }
    value += part.owned
    parts += 1
    return part.byteCount < min(mtu, requestMTU) - 1 ? .finished(value) : .request
  }

  private func endsValue(_ code: ErrorCode) -> Bool {
    switch code {
    case .invalidOffset: !isFirst
    case .attributeNotLong: parts == 1 && offset == 0
    default: false
    }
  }
}
