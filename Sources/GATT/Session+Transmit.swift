import ATT

// What a session's owner does with the PDUs that it wants sent. These look at the bearer from
// here and not from the owner's module, because only here does the compiler know that the bearer
// is never looked at twice at once, and leaves out the check.

extension Session {
  /// Offers the PDUs that wait for the link, in order. Each one that `send` takes is removed.
  ///
  /// - Parameter send: false if the link has no room now. It must not call the session.
  /// - Returns: false as soon as `send` has refused one.
  /// - Throws: what `send` throws; the PDU stays then.
  @inlinable public func transmit<E: Error>(
    _ send: (RawSpan) throws(E) -> Bool
  ) throws(E) -> Bool {
    while let taken = try bearer.outbox.withFirst(send) {
      guard taken else { return false }
      bearer.outbox.removeFirst()
    }
    return true
  }

  /// Offers all PDUs that wait for the link at once, in order, as ``PDUQueue/withEntries(_:)``
  /// shows them. As many as `send` takes are removed.
  ///
  /// - Parameter send: how many the link has taken. It must not call the session.
  /// - Returns: false as soon as `send` has taken none.
  /// - Throws: what `send` throws; nothing is removed then.
  @inlinable public func transmit<E: Error>(
    together send: (RawSpan) throws(E) -> Int
  ) throws(E) -> Bool {
    while !bearer.outbox.isEmpty {
      let taken = try bearer.outbox.withEntries(send)
      guard taken > 0 else { return false }
      bearer.outbox.removeFirst(taken)
    }
    return true
  }

  /// How many PDUs wait for the link.
  public var outputCount: Int { bearer.outbox.count }

  /// Whether PDUs wait for the link.
  public var hasOutput: Bool { !bearer.outbox.isEmpty }

  /// Whether so much waits for the link that nothing more should be produced.
  public var isCongested: Bool { bearer.isCongested }

  /// Whether commands and values may be sent now.
  public var hasRoom: Bool { !bearer.isCongested && !bearer.holdsValues }
}
