import ATT

/// Characteristic Value Reliable Writes: several values, all written or none. Vol 3, Part G, 4.9.5.
///
/// Each value takes as many Prepare Write Requests as it needs; an Execute Write Request ends
/// them. The echo of each part must be exact, or nothing is written. Whatever goes wrong before
/// the values are executed, the queue on the server is dropped before the error is thrown. Without
/// any value there is only the Execute Write Request.
public struct ReliableWrites: Procedure, Sendable {
  public static var preparesWrites: Bool { true }

  private var chain: PrepareChain

  /// - Parameter writes: in the order in which they take effect; one attribute may have several.
  ///   More than 512 octets, with the offset, are refused as ``Misuse/valueTooLong(_:limit:)``
  ///   when the first request is to be encoded.
  public init(_ writes: [LongWrite]) { chain = PrepareChain(writes) }

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
