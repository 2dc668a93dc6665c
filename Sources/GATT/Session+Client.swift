import ATT

// The client side of a session: operations that take turns, and commands.

extension Session {
  /// Begins an operation: sends its first request, or queues it behind others.
  ///
  /// The operation is told of its end, be it at once.
  @discardableResult
  public func start(_ operation: ClientOperation, at now: Instant) -> TransactionID {
    let id = takeTransactionID()
    let limit = bearer.configuration.maximumWaiting
    if let failure = bearer.failure {
      operation.fail(.bearer(failure))
    } else if operations.count > limit {
      operation.fail(.misuse(.tooManyProcedures(limit: limit)))
    } else if operations.admit(id, operation) {
      enqueue(id)
      pumpRequests(at: now)
    }
    return id
  }

  /// Queues an operation of the list for the request slot.
  func enqueue(_ id: TransactionID, isContinuation: Bool = false) {
    switch bearer.enqueueRequest(id, isContinuation: isContinuation) {
    case .waiting: break
    case .refused(let limit): fail(id, .misuse(.tooManyProcedures(limit: limit)))
    case .dead(let failure): fail(id, .bearer(failure))
    }
  }

  /// Ends an operation of the list that has sent its last.
  private func fail(_ id: TransactionID, _ error: ProcedureError) {
    guard let operation = operations.take(id) else { return }
    release(id)
    operation.fail(error)
  }

  /// An operation is no more on the list: the next one that waits for the prepare queue begins.
  private func release(_ id: TransactionID) {
    if let next = operations.release(id) { enqueue(next.id) }
  }

  /// Begins the exchange of ATT_MTU, if this side may.
  @discardableResult
  public func startExchangeMTU(_ operation: ClientOperation, at now: Instant) -> TransactionID? {
    guard bearer.canExchangeMTU, !operations.contains(exchange) else {
      operation.fail(
        .misuse(bearer.configuration.channel == .fixed ? .mtuAlreadyExchanged : .notOnThisBearer))
      return nil
    }
    exchange = start(operation, at: now)
    return exchange
  }

  /// Ends an operation before its time; it is told. A request on the wire keeps the slot until
  /// its response has come. An operation that has left something on the server clears it first
  /// and is told then.
  public func cancel(_ id: TransactionID, at now: Instant) {
    if let waiting = operations.takeWaiting(id) { return waiting.fail(.cancelled) }
    guard let operation = operations.operation(id) else { return }
    if operation.cancel() {
      refuseInsecure(id, at: now)
    } else {
      insecure.removeAll { $0.id == id }
      bearer.cancel(request: id)
      fail(id, .cancelled)
    }
    pumpRequests(at: now)
  }

  /// How many operations have not ended.
  public var operationCount: Int { operations.count }

  /// Sends a value without an answer. Vol 3, Part G, 4.9.1.
  ///
  /// - Returns: false, and nothing sent, if too much waits for the link.
  /// - Throws: `misuse` if the value is longer than ATT_MTU - 3, `bearer` on a dead one.
  public func writeWithoutResponse(
    _ handle: AttributeHandle, _ value: RawSpan
  ) throws(ProcedureError) -> Bool {
    if let failure = bearer.failure { throw .bearer(failure) }
    let limit = bearer.mtu - WriteCommand.headerLength
    guard value.byteCount <= limit else {
      throw .misuse(.valueTooLong(value.byteCount, limit: limit))
    }
    guard !bearer.isCongested else { return false }
    bearer.command { out in WriteCommand.encode(handle, value, into: &out) }
    return true
  }

  /// Sends a signed value without an answer. Vol 3, Part G, 4.9.2.
  ///
  /// - Parameters:
  ///   - counter: of this signature; never use one twice with the same key.
  ///   - key: the CSRK, 16 octets, most significant first.
  /// - Throws: `misuse` if the value is longer than ATT_MTU - 15 or this is no fixed channel;
  ///   `bearer` if the bearer is dead.
  public func writeSigned(
    _ handle: AttributeHandle, _ value: RawSpan, counter: UInt32, key: [UInt8]
  ) throws(ProcedureError) -> Bool {
    if let failure = bearer.failure { throw .bearer(failure) }
    guard bearer.configuration.channel == .fixed else { throw .misuse(.notOnThisBearer) }
    let limit = bearer.mtu - WriteCommand.headerLength - SignedWriteCommand.signatureLength
    guard value.byteCount <= limit else {
      throw .misuse(.valueTooLong(value.byteCount, limit: limit))
    }
    guard !bearer.isCongested else { return false }
    let head = [Opcode.signedWriteCommand.rawValue] + handle.octets + value.owned
    let signature = Signature.compute(over: head.span.bytes, counter: counter, key: key)
    bearer.command { out in
      SignedWriteCommand.encode(handle, value, signature: signature.span.bytes, into: &out)
    }
    return true
  }

  func receive(_ pdu: borrowing PDU, for id: TransactionID, at now: Instant) {
    // Off the list first: whoever is told of the end may call the session again from there.
    guard let operation = operations.take(id) else { return }
    guard operation.receive(pdu, mtu: bearer.mtu) else { return release(id) }
    operations.putBack(id, operation)
    enqueue(id, isContinuation: true)
  }

  func transmit(_ id: TransactionID, _ operation: ClientOperation, at now: Instant) {
    do throws(ProcedureError) {
      try bearer.transmit(request: id, at: now) {
        (out: inout OutputRawSpan) throws(ProcedureError) in
        try operation.encodeRequest(into: &out)
      }
      requestRise = rises
    } catch {
      bearer.release(request: id)
      fail(id, error)
    }
  }

  func pumpRequests(at now: Instant) {
    while let id = bearer.nextRequest() {
      if let operation = operations.operation(id) {
        transmit(id, operation, at: now)
      } else {
        bearer.release(request: id)
      }
    }
  }
}
