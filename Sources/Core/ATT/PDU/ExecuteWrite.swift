/// Execute Write Request: writes or drops the prepared writes. Vol 3, Part F, 3.4.6.3.
///
/// The answer, Execute Write Response (3.4.6.4), is one octet and has no type here.
public struct ExecuteWriteRequest: Equatable, Sendable {
  /// 0 to drop the prepared writes, 1 to write them. Other values are invalid.
  public let flags: UInt8

  /// Drops the prepared writes.
  public static let cancel = ExecuteWriteRequest(flags: 0)
  /// Executes the prepared writes.
  public static let write = ExecuteWriteRequest(flags: 1)

  /// Creates the PDU from its fields.
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
