import AttoATT

/// The maximum length of a value. Vol 3, Part F, 3.2.9.
enum ValueLength {
  /// The length of the longest value in octets.
  static let limit = 512

  /// Throws ``ProtocolViolation/valueTooLong(_:_:)`` for a value longer than 512 octets,
  /// which a PDU of 517 octets can carry.
  static func check(_ length: Int, of handle: AttributeHandle) throws(ProcedureError) {
    guard length <= limit else { throw .violation(.valueTooLong(handle, length)) }
  }
}
