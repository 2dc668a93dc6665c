/// Write Request: asks to write a value and confirm it. Vol 3, Part F, 3.4.5.1.
///
/// The answer, Write Response (3.4.5.2), is one octet and has no type here.
public enum WriteRequest {
  /// Octets before the value.
  public static let headerLength = HandleAndValue.headerLength

  /// Appends the PDU; traps if the value is longer than ATT_MTU - 3.
  @inlinable static public func encode(
    _ handle: AttributeHandle, _ value: RawSpan, into out: inout OutputRawSpan
  ) {
    HandleAndValue.encode(.writeRequest, handle, value, into: &out)
  }
}

/// Write Command: asks to write a value without a response. Vol 3, Part F, 3.4.5.3.
public enum WriteCommand {
  /// Octets before the value.
  public static let headerLength = HandleAndValue.headerLength

  /// Appends the PDU; traps if the value is longer than ATT_MTU - 3.
  @inlinable static public func encode(
    _ handle: AttributeHandle, _ value: RawSpan, into out: inout OutputRawSpan
  ) {
    HandleAndValue.encode(.writeCommand, handle, value, into: &out)
  }
}
