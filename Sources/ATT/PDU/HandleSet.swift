/// The handles of a Read Multiple or Read Multiple Variable Request: two or more, as the peer
/// sent them. Vol 3, Part F, 3.4.4.7.
public struct HandleSet: ~Escapable {
  private let octets: RawSpan

  /// nil unless there are two or more whole handles.
  @_lifetime(copy octets)
  init?(_ octets: RawSpan) {
    guard octets.byteCount >= 4, octets.byteCount % 2 == 0 else { return nil }
    self.octets = octets
  }

  /// How many handles there are.
  public var count: Int { octets.byteCount / 2 }
  /// The handle at this place, from 0; traps beyond ``count``.
  public subscript(index: Int) -> AttributeHandle { octets.handle(at: index * 2) }

  static func encode(_ opcode: Opcode, _ handles: [AttributeHandle], into out: inout OutputRawSpan)
  {
    out.append(opcode)
    for handle in handles { out.append(handle) }
  }
}
