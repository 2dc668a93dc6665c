import AttoATT

/// Characteristic Value Reliable Writes: writes several values, or none of them. Vol 3, Part G,
/// 4.9.5.
///
/// The values are sent in Prepare Write Requests, followed by an Execute Write Request. If the echo
/// of a part differs, nothing is written. After an error, the queue on the server is dropped before
/// the procedure throws. Without values it sends only the Execute Write Request.
public struct ReliableWrites: Procedure, Sendable {
  public static var preparesWrites: Bool { true }

  private var chain: PrepareChain

  /// - Parameter writes: the writes in the order in which they take effect, possibly several for
  ///   one attribute. If offset and value exceed 512 octets, the procedure fails with
  ///   ``Misuse/valueTooLong(_:limit:)`` when the first request is encoded.
  public init(_ writes: [LongWrite]) { chain = PrepareChain(writes) }

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
