import ATT

/// A value to be queued on the server with Prepare Write Requests, in as many parts as it takes.
public struct LongWrite: Equatable, Sendable {
  /// The attribute.
  public let handle: AttributeHandle
  /// Where in the attribute's value the first octet goes.
  public let offset: UInt16
  /// Offset and octets are 512 together at the most.
  public let value: [UInt8]

  /// Writes these octets to the attribute, from this octet of its value on.
  public init(_ handle: AttributeHandle, offset: UInt16 = 0, value: [UInt8]) {
    self.handle = handle
    self.offset = offset
    self.value = value
  }
}
