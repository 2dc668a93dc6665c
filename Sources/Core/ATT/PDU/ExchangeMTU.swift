/// Exchange MTU Request: the longest PDU that the client can receive. Vol 3, Part F, 3.4.2.1.
public struct ExchangeMTURequest: Equatable, Sendable {
  /// The longest PDU that the client can receive, in octets.
  public let clientReceiveMTU: UInt16

  /// Creates the PDU from its fields.
  public init(clientReceiveMTU: UInt16) { self.clientReceiveMTU = clientReceiveMTU }

  init?(_ octets: RawSpan) {
    guard octets.byteCount == 3 else { return nil }
    clientReceiveMTU = octets.uint16(at: 1)
  }

  /// Appends the 3 octets of the PDU; traps without room.
  public func encode(into out: inout OutputRawSpan) {
    out.append(Opcode.exchangeMTURequest)
    out.append(clientReceiveMTU)
  }
}

/// Exchange MTU Response: the longest PDU that the server can receive. Vol 3, Part F, 3.4.2.2.
public struct ExchangeMTUResponse: Equatable, Sendable {
  /// The longest PDU that the server can receive, in octets.
  public let serverReceiveMTU: UInt16

  /// Creates the PDU from its fields.
  public init(serverReceiveMTU: UInt16) { self.serverReceiveMTU = serverReceiveMTU }

  init?(_ octets: RawSpan) {
    guard octets.byteCount == 3 else { return nil }
    serverReceiveMTU = octets.uint16(at: 1)
  }

  /// Appends the 3 octets of the PDU; traps without room.
  public func encode(into out: inout OutputRawSpan) {
    out.append(Opcode.exchangeMTUResponse)
    out.append(serverReceiveMTU)
  }
}
