/// The handles of a Read Multiple or Read Multiple Variable Request: two or more, in the order of
/// the PDU. Vol 3, Part F, 3.4.4.7.
public struct HandleSet: ~Escapable {
  private let octets: RawSpan

  /// nil unless the octets are two or more whole handles.
  @_lifetime(copy octets)
  init?(_ octets: RawSpan) {
    guard octets.byteCount >= 4, octets.byteCount % 2 == 0 else { return nil }
    self.octets = octets
  }

  /// The number of handles.
  public var count: Int { octets.byteCount / 2 }
  /// The handle at an index; traps if it is out of range.
  public subscript(index: Int) -> AttributeHandle { octets.handle(at: index * 2) }

  static func encode(_ opcode: Opcode, _ handles: [AttributeHandle], into out: inout OutputRawSpan)
  {
    out.append(opcode)
    for handle in handles { out.append(handle) }
  }
}
