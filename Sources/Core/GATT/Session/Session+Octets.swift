import AttoATT

// The functions that take octets, for a `Span<UInt8>`. A literal such as `[1, 2, 3].span` then is one of
// octets, and not of `Int`, which `.bytes` would turn into 24 octets.

extension Session {
  /// Receives one PDU from the link.
  public func receive(_ octets: Span<UInt8>, at now: Instant) -> SessionAction {
    receive(octets.bytes, at: now)
  }

  /// As ``writeWithoutResponse(_:_:)-(_,RawSpan)``.
  ///
  /// - Throws: `misuse` if the value is longer than ATT_MTU - 3 or 512 octets, `bearer` if the
  ///   bearer has failed.
  public func writeWithoutResponse(
    _ handle: AttributeHandle, _ value: Span<UInt8>
  ) throws(ProcedureError) -> Bool {
    try writeWithoutResponse(handle, value.bytes)
  }

  /// As ``writeSigned(_:_:counter:key:)-(_,RawSpan,_,_)``.
  ///
  /// - Throws: `misuse` if the value is longer than ATT_MTU - 15 or the channel is not the fixed one,
  ///   `bearer` if the bearer has failed.
  public func writeSigned(
    _ handle: AttributeHandle, _ value: Span<UInt8>, counter: UInt32, key: [UInt8]
  ) throws(ProcedureError) -> Bool {
    try writeSigned(handle, value.bytes, counter: counter, key: key)
  }

  /// As ``notify(_:_:)-(_,RawSpan)``.
  public func notify(_ handle: AttributeHandle, _ value: Span<UInt8>) -> Bool {
    notify(handle, value.bytes)
  }
}
