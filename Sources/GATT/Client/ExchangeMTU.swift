import ATT

/// Exchange MTU: tells the server what the client can receive. Vol 3, Part G, 4.3.1.
///
/// Its output is the ATT_MTU that both sides use from now on: the smaller of the two numbers,
/// 23 at the least. A server that does not know the request (0x06) refuses it, and ATT_MTU stays
/// as it was.
public struct ExchangeMTU: Procedure, Sendable {
  /// The Client Rx MTU: the longest PDU that the client takes, in octets.
  public let clientReceiveMTU: Int

  /// The ATT_MTU of LE before any exchange, and the smallest there is. Vol 3, Part G, 5.2.1.
  static let defaultMTU = 23

  /// - Parameter clientReceiveMTU: 23 to 65535; other numbers are refused as
  ///   ``Misuse/mtuOutOfRange(_:)`` when the request is to be encoded.
  public init(clientReceiveMTU: Int) { self.clientReceiveMTU = clientReceiveMTU }

  public mutating func encodeRequest(into out: inout OutputRawSpan) throws(ProcedureError) {
    guard let number = UInt16(exactly: clientReceiveMTU), number >= Self.defaultMTU else {
      throw .misuse(.mtuOutOfRange(clientReceiveMTU))
    }
    ExchangeMTURequest(clientReceiveMTU: number).encode(into: &out)
  }

  public mutating func receive(
    _ response: borrowing PDU, mtu: Int
  ) throws(ProcedureError) -> Step<Int> {
    switch response {
    case .exchangeMTUResponse(let server):
      return .finished(max(Self.defaultMTU, min(clientReceiveMTU, Int(server.serverReceiveMTU))))
    case .errorResponse(let error): throw .refused(error)
    default: throw .violation(.incompleteResponse(.exchangeMTURequest))
    }
  }
}
