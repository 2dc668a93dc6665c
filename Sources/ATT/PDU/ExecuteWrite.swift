/// Execute Write Request: writes or drops what was prepared. Vol 3, Part F, 3.4.6.3.
///
/// The answer, Execute Write Response (3.4.6.4), is one octet and has no type of its own.
public struct ExecuteWriteRequest: Equatable, Sendable {
  /// The flags octet as the peer sent it: 0 drops, 1 writes, anything else means nothing.
  public let flags: UInt8

  /// Drops what was prepared.
  public static let cancel = ExecuteWriteRequest(flags: 0)
  /// Writes what was prepared.
  public static let write = ExecuteWriteRequest(flags: 1)

  /// The PDU with these fields.
  public init(flags: UInt8) { self.flags = flags }

  init?(_ octets: RawSpan) {
    guard octets.byteCount == 2 else { return nil }
    flags = octets.octet(at: 1)
  }

  /// Appends the 2 octets of the PDU; traps without room.
  public func encode(into out: inout OutputRawSpan) {
    out.append(Opcode.executeWriteRequest)
    out.append(flags)
  }
}
