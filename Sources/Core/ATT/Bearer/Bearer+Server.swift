// The server side of a bearer: responses, confirmations, notifications and indications.

extension Bearer {
  /// Answers the peer's request.
  ///
  /// - Parameter response: one PDU of at most ATT_MTU octets.
  public mutating func respond(_ response: RawSpan) {
    guard failure == nil else { return }
    precondition(serverIsBusy, "no request waits for a response")
    precondition(response.byteCount <= mtu, "a response is no longer than ATT_MTU")
    outbox.append(response)
    serverIsBusy = false
  }

  /// Answers the peer's request with the only PDU of a queue, and empties the queue. If the outbox
  /// is empty, the two are swapped instead of copying the PDU.
  public mutating func respond(from queue: inout PDUQueue) {
    guard failure == nil else { return queue.removeAll() }
    precondition(serverIsBusy, "no request waits for a response")
    precondition(queue.count == 1, "a request has one response")
    precondition(queue.firstLength <= mtu, "a response is no longer than ATT_MTU")
    if outbox.isEmpty {
      swap(&outbox, &queue)
    } else {
      if let response = queue.first { outbox.append(response) }
      queue.removeAll()
    }
    serverIsBusy = false
  }

  /// Dequeues a request that was held while an earlier one was unanswered. Decode it without a limit,
  /// since ATT_MTU applied when it arrived, and pass it to ``receive(_:octets:at:)`` again.
  ///
  /// - Returns: false if no request is held, or the earlier one is still unanswered.
  public mutating func dequeueHeldRequest(into octets: inout [UInt8]) -> Bool {
    guard !serverIsBusy, !held.isEmpty else { return false }
    held.removeFirst(into: &octets)
    return true
  }

  /// Whether a request of the peer is unanswered.
  @inlinable public var owesResponse: Bool { serverIsBusy }

  /// Confirms the peer's indication.
  public mutating func confirm() {
    guard failure == nil else { return }
    transmit { out in out.append(Opcode.handleValueConfirmation) }
  }

  /// Whether notifications and indications must wait, because our exchange of ATT_MTU is in flight.
  /// Vol 3, Part F, 3.4.2.2.
  @inlinable public var holdsValues: Bool {
    if case .inFlight = ownExchange { true } else { false }
  }

  /// Appends a notification. Not while ``holdsValues``.
  @inlinable public mutating func notify(_ encode: (inout OutputRawSpan) -> Void) {
    guard failure == nil else { return }
    precondition(!holdsValues, "no notification during the exchange of ATT_MTU")
    transmit(encode)
  }

  /// Queues a transaction for the indication slot.
  public mutating func enqueueIndication(_ id: TransactionID) -> Enqueued {
    if let failure { return .dead(failure) }
    return indications.enqueue(id)
  }

  /// Queues a transaction for the indication slot before all others, regardless of the limit. Only
  /// for Service Changed, which must precede values.
  public mutating func enqueueFirstIndication(_ id: TransactionID) -> Enqueued {
    if let failure { return .dead(failure) }
    indications.enqueueFirst(id)
    return .waiting
  }

  /// Grants the indication slot, if it is free, to the first transaction in the queue.
  public mutating func nextIndication() -> TransactionID? { indications.grantNext() }

  /// Appends the indication of the transaction to which the slot was granted. Not while
  /// ``holdsValues``.
  public mutating func transmit(
    indication id: TransactionID, at now: Instant, _ encode: (inout OutputRawSpan) -> Void
  ) {
    precondition(!holdsValues, "no indication during the exchange of ATT_MTU")
    transmit(encode)
    indications.transmit(
      id, .handleValueIndication, deadline: now.advanced(by: configuration.timeout))
  }

  /// Cancels an indication. If it is in flight, its confirmation will be ignored.
  public mutating func cancel(indication id: TransactionID) { indications.cancel(id) }
}
