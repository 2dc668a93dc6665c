/// Read Multiple Request: asks for the values of two or more attributes whose lengths the
/// client knows. Vol 3, Part F, 3.4.4.7.
public struct ReadMultipleRequest: ~Escapable {
  /// The attributes to read, in this order.
  public let handles: HandleSet

  @_lifetime(copy octets)
  init?(_ octets: RawSpan) {
    guard let handles = HandleSet(octets.from(1)) else { return nil }
    self.handles = handles
  }

  /// Appends the PDU; traps if the handles need more than ATT_MTU - 1 octets.
  static public func encode(_ handles: [AttributeHandle], into out: inout OutputRawSpan) {
    HandleSet.encode(.readMultipleRequest, handles, into: &out)
  }
}

/// Read Multiple Response: the values without separators, cut at ATT_MTU - 1 octets. Vol 3, Part F,
/// 3.4.4.8.
public struct ReadMultipleResponse: ~Escapable {
  /// The values without separators.
  public let values: RawSpan

  @_lifetime(copy octets)
  init(_ octets: RawSpan) { values = octets.from(1) }

  /// Appends the start of the PDU; each value is appended with `append(fitting:)`.
  static public func begin(into out: inout OutputRawSpan) {
    out.append(Opcode.readMultipleResponse)
  }
}
