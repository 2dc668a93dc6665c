import ATT

/// Read Long Characteristic Values, and the same for descriptors: a value to its end. Vol 3,
/// Part G, 4.8.3 and 4.12.2.
///
/// The first request is a Read Request, or a Read Blob Request if reading begins at an offset;
/// Read Blob Requests follow, each from where the part before ended. A part shorter than
/// ATT_MTU - 1 octets is the last one. If ATT_MTU grew while a request was on the wire, the
/// response may have been built before: a part counts as short only if it is so at the smaller
/// of the two, at the price of one request that brings an empty part.
///
/// After a full part the server may also say that there is no more:
/// - Invalid Offset (0x07) ends the value with what has been read. The right answer where a
///   value ends is an empty part, but there are servers that answer so. A value that has become
///   shorter in mid-read gets the same answer; the two cannot be told apart, and no long read
///   is protected from a value that changes between its requests.
/// - Attribute Not Long (0x0B) ends it if just one part has been read from the beginning: the
///   value is ATT_MTU - 1 octets long. Later it contradicts the parts already there, and is an
///   error.
///
/// Any other error is one. Limits: 512 octets; so at MTU 23 at most 24 requests.
public struct ReadLongValue: Procedure, Sendable {
  /// The attribute.
  public let handle: AttributeHandle
  /// Octets of the value that were skipped.
  public let offset: UInt16

  private var value: [UInt8] = []
  private var parts = 0
  /// ATT_MTU when the last request was built.
  private var requestMTU = 0

  /// - Parameters:
  ///   - handle: of a characteristic's value, or a descriptor.
  ///   - offset: octets of the value to skip.
  public init(_ handle: AttributeHandle, offset: UInt16 = 0) {
    self.handle = handle
    self.offset = offset
  }

  private var nextOffset: Int { Int(offset) + value.count }
  private var isFirst: Bool { parts == 0 }
  private var opcode: Opcode { isFirst && offset == 0 ? .readRequest : .readBlobRequest }

  public mutating func encodeRequest(into out: inout OutputRawSpan) throws(ProcedureError) {
    guard handle.isValid else { throw .misuse(.invalidHandle) }
    requestMTU = out.freeCapacity
    if opcode == .readRequest {
      ReadRequest(handle).encode(into: &out)
    } else {
      // `receive` lets the offset pass 512 only if it did so from the beginning.
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
