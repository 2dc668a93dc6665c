import AttoATT

// Sending the PDUs of a session. These functions are in this module because only here the compiler
// knows that accesses to the bearer do not overlap, and omits the check.

extension Session {
  /// Calls `send` with each PDU of the outbox, in order, and removes those that were sent.
  ///
  /// - Parameter send: returns false if the link has no room now. It must not call the session.
  /// - Returns: false if `send` has returned false.
  /// - Throws: what `send` throws; the PDU stays in the outbox.
  @inlinable public func transmit<E: Error>(
    _ send: (RawSpan) throws(E) -> Bool
  ) throws(E) -> Bool {
    while let isSent = try bearer.outbox.withFirst(send) {
      guard isSent else { return false }
      bearer.outbox.removeFirst()
    }
    return true
  }

  /// Calls `send` with all PDUs of the outbox at once, in the form of ``AttoATT/PDUQueue/withEntries(_:)``,
  /// and removes those that were sent.
  ///
  /// - Parameter send: returns how many PDUs were sent. It must not call the session.
  /// - Returns: false if `send` has returned 0.
  /// - Throws: what `send` throws; the PDUs stay in the outbox.
  @inlinable public func transmit<E: Error>(
    together send: (RawSpan) throws(E) -> Int
  ) throws(E) -> Bool {
    while !bearer.outbox.isEmpty {
      let count = try bearer.outbox.withEntries(send)
      guard count > 0 else { return false }
      bearer.outbox.removeFirst(count)
    }
    return true
  }

  /// Frees the memory of empty queues until they are used again, for a session that is idle among
  /// many.
  public func trim() {
    bearer.trim()
    if response.isEmpty { response = PDUQueue() }
    if held.isEmpty { held = [] }
  }

  /// The number of PDUs in the outbox.
  public var outputCount: Int { bearer.outbox.count }

  /// Whether there are PDUs in the outbox.
  public var hasOutput: Bool { !bearer.outbox.isEmpty }

  /// Whether the outbox is full, so that nothing more should be produced.
  public var isCongested: Bool { bearer.isCongested }

  /// Whether commands and values may be sent now.
  public var hasRoom: Bool { !bearer.isCongested && !bearer.holdsValues }
}
