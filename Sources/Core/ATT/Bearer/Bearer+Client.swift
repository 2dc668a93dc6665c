// The client side of a bearer: requests and commands.

extension Bearer {
  /// Queues a transaction for the request slot.
  ///
  /// - Parameter isContinuation: whether this is the next request of a procedure in progress, to
  ///   which the limit of the queue does not apply.
  public mutating func enqueueRequest(
    _ id: TransactionID, isContinuation: Bool = false
  ) -> Enqueued {
    if let failure { return .dead(failure) }
    return requests.enqueue(id, isContinuation: isContinuation)
  }

  /// Whether ``nextRequest()`` would return a transaction.
  @inlinable public var canGrantRequest: Bool { requests.canGrant }

  /// Whether ``nextIndication()`` would return a transaction.
  @inlinable public var canGrantIndication: Bool { indications.canGrant }

  /// Whether ``dequeueHeldRequest(into:)`` would return a request.
  @inlinable public var hasHeldRequest: Bool { !serverIsBusy && !held.isEmpty }

  /// Grants the request slot, if it is free, to the first transaction in the queue.
  public mutating func nextRequest() -> TransactionID? { requests.grantNext() }

  /// Appends the request of the transaction to which the slot was granted.
  ///
  /// If `encode` throws, nothing is sent and the slot stays granted.
  @inlinable public mutating func transmit<E: Error>(
    request id: TransactionID, at now: Instant,
    _ encode: (inout OutputRawSpan) throws(E) -> Void
  ) throws(E) {
    let length = try outbox.append(limit: mtu, encode)
    precondition(length > 0, "a request has an opcode")
    let opcode = Opcode(outbox.last(length).octet(at: 0))
    if opcode == .exchangeMTURequest {
      let value = length == 3 ? outbox.last(length).uint16(at: 1) : 0
      ownExchange = .inFlight(value)
    }
    requests.transmit(id, opcode, deadline: now.advanced(by: configuration.timeout))
  }

  /// Releases a granted request slot without sending.
  public mutating func release(request id: TransactionID) { requests.release(id) }

  /// Cancels a request. If it is in flight, the slot stays in use until the response arrives, which
  /// will be ignored.
  ///
  /// - Returns: whether it is in flight.
  @discardableResult
  public mutating func cancel(request id: TransactionID) -> Bool { requests.cancel(id) }

  /// Whether this side may exchange ATT_MTU: once, on the fixed channel.
  public var canExchangeMTU: Bool { configuration.channel == .fixed && ownExchange == .open }

  /// Appends a command.
  @inlinable public mutating func command(_ encode: (inout OutputRawSpan) -> Void) {
    guard failure == nil else { return }
    transmit(encode)
  }

  /// Appends a PDU unchecked, for testing the peer.
  public mutating func transmitRaw(_ pdu: RawSpan) {
    guard failure == nil else { return }
    outbox.append(pdu)
  }
}
