import AttoATT

// The client side of a session: operations that take turns, and commands.

extension Session {
  /// Starts an operation: sends its first request, or queues it behind others.
  ///
  /// If it fails at once, the operation is informed before this returns.
  @discardableResult
  public func start(_ operation: ClientOperation, at now: Instant) -> TransactionID {
    let id = newTransactionID()
    start(id, operation, at: now)
    return id
  }

  /// - Parameter isLimited: whether the operation counts for the limit of those that wait.
  func start(
    _ id: TransactionID, _ operation: ClientOperation, at now: Instant, isLimited: Bool = true
  ) {
    let limit = bearer.configuration.maximumWaiting
    if let failure = bearer.failure {
      operation.fail(death(failure))
    } else if isLimited, operations.count > limit {
      operation.fail(.misuse(.tooManyProcedures(limit: limit)))
    } else if operations.admit(id, operation) {
      enqueue(id, isContinuation: !isLimited)
      pumpRequests(at: now)
    }
  }

  /// Queues an operation for the request slot.
  func enqueue(_ id: TransactionID, isContinuation: Bool = false) {
    switch bearer.enqueueRequest(id, isContinuation: isContinuation) {
    case .waiting: break
    case .refused(let limit): fail(id, .misuse(.tooManyProcedures(limit: limit)))
    case .dead(let failure): fail(id, death(failure))
    }
  }

  /// Ends an operation that will send no more requests.
  private func fail(_ id: TransactionID, _ error: ProcedureError) {
    guard let operation = operations.remove(id) else { return }
    release(id)
    operation.fail(error)
  }

  /// After an operation has ended, starts the next one that waits for the prepare queue.
  private func release(_ id: TransactionID) {
    if let next = operations.release(id) { enqueue(next.id) }
  }

  /// Starts the exchange of ATT_MTU. Fails the operation if this side may not exchange it again.
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

  /// Cancels an operation, which fails with `cancelled`. If it has prepared writes on the server,
  /// it clears them first. A request in flight keeps the slot until its response arrives.
  public func cancel(_ id: TransactionID, at now: Instant) {
    if let waiting = operations.removeWaiting(id) { return waiting.fail(.cancelled) }
    guard let operation = operations.operation(id) else { return }
    if operation.cancel() {
      refuseInsecure(id, at: now)
    } else {
      insecure.removeAll { $0.id == id }
      if bearer.cancel(request: id) { abandoned = Abandoned(operation) }
      fail(id, .cancelled)
    }
    pumpRequests(at: now)
  }

  /// The number of operations that have not ended.
  public var operationCount: Int { operations.count }

  /// Sends a Write Command. Vol 3, Part G, 4.9.1.
  ///
  /// - Returns: false, with nothing sent, while the outbox is full.
  /// - Throws: `misuse` if the value is longer than ATT_MTU - 3 or 512 octets, `bearer` if the
  ///   bearer has failed.
  public func writeWithoutResponse(
    _ handle: AttributeHandle, _ value: RawSpan
  ) throws(ProcedureError) -> Bool {
    if let failure = bearer.failure { throw death(failure) }
    let limit = min(bearer.mtu - WriteCommand.headerLength, ValueLength.limit)
    guard value.byteCount <= limit else {
      throw .misuse(.valueTooLong(value.byteCount, limit: limit))
    }
    guard !bearer.isCongested else { return false }
    bearer.command { out in WriteCommand.encode(handle, value, into: &out) }
    return true
  }

  /// Sends a Signed Write Command. Vol 3, Part G, 4.9.2.
  ///
  /// - Parameters:
  ///   - counter: the sign counter. Never use a number twice with the same key.
  ///   - key: the CSRK, 16 octets, most significant first.
  /// - Returns: false, with nothing sent, while the outbox is full.
  /// - Throws: `misuse` if the value is longer than ATT_MTU - 15 or the channel is not the fixed
  ///   one, `bearer` if the bearer has failed.
  public func writeSigned(
    _ handle: AttributeHandle, _ value: RawSpan, counter: UInt32, key: [UInt8]
  ) throws(ProcedureError) -> Bool {
    if let failure = bearer.failure { throw death(failure) }
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
    // Removed first, because the operation may call the session when it ends.
    guard let operation = operations.remove(id) else { return }
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
