import AttoATT

/// Exchange MTU: tells the server the longest PDU that the client can receive. Vol 3, Part G,
/// 4.3.1.
///
/// Its output is the ATT_MTU that both sides use from now on: the smaller of the two numbers, but
/// at least 23. If the server does not support the request, it answers Request Not Supported
/// (0x06), and ATT_MTU stays as it was.
public struct ExchangeMTU: Procedure, Sendable {
  /// The Client Rx MTU: the longest PDU that the client can receive, in octets.
  public let clientReceiveMTU: Int

  /// The minimum ATT_MTU, and the one of LE before an exchange. Vol 3, Part G, 5.2.1.
  static let defaultMTU = 23

  /// - Parameter clientReceiveMTU: 23 to 65535; other numbers fail with
  ///   ``Misuse/mtuOutOfRange(_:)`` when the request is encoded.
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
