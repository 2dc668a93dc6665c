import ATT

/// Write Long Characteristic Values, and the same for descriptors: Prepare Write Requests with
/// parts of ATT_MTU - 5 octets, then an Execute Write Request. Vol 3, Part G, 4.9.4 and 4.12.4.
///
/// The echo of each part must be exact, or nothing is written. Whatever goes wrong before the
/// value is executed, the queue on the server is dropped before the error is thrown. An empty value
/// is one empty part.
public struct WriteLongValue: Procedure, Sendable {
  public static var preparesWrites: Bool { true }

  private var chain: PrepareChain

  /// - Parameters:
  ///   - handle: of a characteristic's value, or a descriptor.
  ///   - offset: where in the attribute's value the first octet goes.
  ///   - value: more than 512 octets, with the offset, are refused as
  ///     ``Misuse/valueTooLong(_:limit:)`` when the first request is to be encoded.
  public init(_ handle: AttributeHandle, offset: UInt16 = 0, value: [UInt8]) {
    chain = PrepareChain([LongWrite(handle, offset: offset, value: value)])
  }

  public mutating func encodeRequest(into out: inout OutputRawSpan) throws(ProcedureError) {
    try chain.encodeRequest(into: &out)
  }

  public mutating func receive(
    _ response: borrowing PDU, mtu: Int
  ) throws(ProcedureError) -> Step<Void> {
    try chain.receive(response)
  }

  /// True once parts have been sent: the queue is dropped first.
  public mutating func cancel() -> Bool { chain.cancel() }
}
