/// Handle Value Notification: a value that the server sends without a request. Vol 3, Part F,
/// 3.4.7.1.
public enum HandleValueNotification {
  /// Octets before the value.
  public static let headerLength = HandleAndValue.headerLength

  /// Appends the PDU with as much of the value as fits.
  @inlinable static public func encode(
    _ handle: AttributeHandle, _ value: RawSpan, into out: inout OutputRawSpan
  ) {
    HandleAndValue.encode(.handleValueNotification, handle, fitting: value, into: &out)
  }
}

/// Handle Value Indication: a value that the server sends and the client confirms.
/// Vol 3, Part F, 3.4.7.2. The confirmation (3.4.7.3) is one octet and has no type here.
public enum HandleValueIndication {
  /// Octets before the value.
  public static let headerLength = HandleAndValue.headerLength

  /// Appends the PDU with as much of the value as fits.
  @inlinable static public func encode(
    _ handle: AttributeHandle, _ value: RawSpan, into out: inout OutputRawSpan
  ) {
    HandleAndValue.encode(.handleValueIndication, handle, fitting: value, into: &out)
  }
}
