import ATT

/// What the specification says of how long a value can be. Vol 3, Part F, 3.2.9.
enum ValueLength {
  /// Octets of the longest value.
  static let limit = 512

  /// Throws ``ProtocolViolation/valueTooLong(_:_:)`` for a value longer than 512 octets: a PDU
  /// of 517 octets has room for more.
  static func check(_ length: Int, of handle: AttributeHandle) throws(ProcedureError) {
    guard length <= limit else { throw .violation(.valueTooLong(handle, length)) }
  }
}
