import AttoATT

/// A value to send in Prepare Write Requests, in one or more parts.
public struct LongWrite: Equatable, Sendable {
  /// The attribute.
  public let handle: AttributeHandle
  /// The offset of the first octet in the attribute's value.
  public let offset: UInt16
  /// The octets to write. Offset and length must not exceed 512 together.
  public let value: [UInt8]

  /// Creates a write of these octets at an offset of the attribute's value.
  public init(_ handle: AttributeHandle, offset: UInt16 = 0, value: [UInt8]) {
    self.handle = handle
    self.offset = offset
    self.value = value
  }
}
