import AttoATT

/// Write Long Characteristic Values, and the same for descriptors: sends Prepare Write Requests
/// with parts of ATT_MTU - 5 octets, then an Execute Write Request. Vol 3, Part G, 4.9.4 and
/// 4.12.4.
///
/// If the echo of a part differs, nothing is written. After an error, the queue on the server is
/// dropped before the procedure throws. An empty value is sent as one empty part.
public struct WriteLongValue: Procedure, Sendable {
  public static var preparesWrites: Bool { true }

  private var chain: PrepareChain

  /// - Parameters:
  ///   - handle: the handle of a characteristic's value or of a descriptor.
  ///   - offset: the offset of the first octet in the attribute's value.
  ///   - value: the octets to write. If offset and value exceed 512 octets, the procedure fails
  ///     with
  ///     ``Misuse/valueTooLong(_:limit:)`` when the first request is encoded.
  public init(_ handle: AttributeHandle, offset: UInt16 = 0, value: [UInt8]) {
    chain = PrepareChain([LongWrite(handle, offset: offset, value: value)])
  }

  public var footprint: Footprint? { chain.footprint }

  public mutating func encodeRequest(into out: inout OutputRawSpan) throws(ProcedureError) {
    try chain.encodeRequest(into: &out)
  }

  public mutating func receive(
    _ response: borrowing PDU, mtu: Int
  ) throws(ProcedureError) -> Step<Void> {
    try chain.receive(response)
  }

  /// Returns true if parts have been sent. Then the queue is dropped first.
  public mutating func cancel() -> Bool { chain.cancel() }
}
