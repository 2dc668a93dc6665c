import AttoATT
import AttoEventLoop
import AttoGATT

extension Connection {
  /// Writes a value and waits for the response. Vol 3, Part G, 4.9.3 and 4.12.3.
  ///
  /// - Throws: `refused` with the peer's code; `misuse` if the value is longer than ATT_MTU - 3:
  ///   ``writeLong(_:to:offset:)`` writes up to 512 octets.
  public func write(_ value: [UInt8], to handle: AttributeHandle) async throws(AttoError) {
    let write = AwaitedWrite(handle, value, core)
    await write.carriedOut()
    if let failure = write.failure { throw await explained(failure) }
  }

  /// Writes a value of up to 512 octets in parts. Vol 3, Part G, 4.9.4.
  ///
  /// - Throws: `refused`; `violation` if the peer's responses differ from the requests. The prepared
  ///   parts are cancelled then.
  public func writeLong(
    _ value: [UInt8], to handle: AttributeHandle, offset: UInt16 = 0
  ) async throws(AttoError) {
    _ = try await perform(WriteLongValue(handle, offset: offset, value: value))
  }

  /// Writes all of several values, or none, and checks the peer's responses. Vol 3, Part G,
  /// 4.9.5.
  ///
  /// - Throws: `refused`; `violation` if the peer's responses differ from the requests; `misuse`; what
  ///   ``perform(_:)`` throws. Nothing is written then, unless the last request had been sent.
  public func writeReliably(
    _ writes: [LongWrite]
  ) async throws(AttoError) {
    _ = try await perform(ReliableWrites(writes))
  }

  /// Writes a value without a response. Vol 3, Part G, 4.9.1.
  ///
  /// Returns when the value has been sent or gathered for sending; waits for room if the link has
  /// none.
  ///
  /// - Throws: `misuse` if the value is longer than ATT_MTU - 3 or 512 octets.
  public func writeWithoutResponse(
    _ value: [UInt8], to handle: AttributeHandle
  ) async throws(AttoError) {
    if let core = core.valueHere,
      try core.writeWithoutResponse(handle, value.span.bytes, isGathered: true).get()
    {
      if core.unwaited.note() { await loop.yield() }
      return
    }
    try await sendWhenThereIsRoom { $0.writeWithoutResponse(handle, value.span.bytes) }
  }

  /// A function of its own, so that calls that do not wait have less to prepare.
  private func sendWhenThereIsRoom(
    _ send: @escaping @Sendable (ConnectionCore) -> Result<Bool, AttoError>
  ) async throws(AttoError) {
    while true {
      let isSent: Bool = try await withWaiter { core, waiter in waiter.resume(send(core)) }
      if isSent { return }
      try await awaitRoom()
    }
  }

  /// Writes a value without a response, signed. Vol 3, Part G, 4.9.2.
  ///
  /// - Parameters:
  ///   - counter: the sign counter; never use one twice with the same key.
  ///   - key: the CSRK, 16 octets, most significant first.
  /// - Throws: `misuse` if the value is longer than ATT_MTU - 15; the error that ended the
  ///   connection; `cancelled`.
  public func writeSigned(
    _ value: [UInt8], to handle: AttributeHandle, counter: UInt32, key: [UInt8]
  ) async throws(AttoError) {
    try await sendWhenThereIsRoom {
      $0.writeSigned(handle, value.span.bytes, counter: counter, key: key)
    }
  }

  /// Waits until commands have room.
  ///
  /// - Throws: the error that ended the connection.
  public func awaitRoom() async throws(AttoError) {
    let _: Void = try await withWaiter { core, waiter in core.awaitRoom(waiter) }
  }
}

extension ConnectionCore {
  /// - Parameter isGathered: whether it may wait for more commands until the loop's turn ends.
  func writeWithoutResponse(
    _ handle: AttributeHandle, _ value: RawSpan, isGathered: Bool = false
  ) -> Result<Bool, AttoError> {
    guard let bearers else { return sendCommand(handle, value, isGathered: isGathered) }
    return bearers.core(forCommandsTo: handle).sendCommand(handle, value, isGathered: isGathered)
  }

  func writeSigned(
    _ handle: AttributeHandle, _ value: RawSpan, counter: UInt32, key: [UInt8]
  ) -> Result<Bool, AttoError> {
    let result: Result<Bool, AttoError>
    do throws(ProcedureError) {
      result = .success(
        try session.writeSigned(handle, value, counter: counter, key: key))
    } catch {
      result = .failure(AttoError(error, end: end))
    }
    settle()
    return result
  }
}

extension BearerCore {
  fileprivate func sendCommand(
    _ handle: AttributeHandle, _ value: RawSpan, isGathered: Bool
  ) -> Result<Bool, AttoError> {
    let result: Result<Bool, AttoError>
    do throws(ProcedureError) {
      result = .success(try session.writeWithoutResponse(handle, value))
    } catch {
      result = .failure(AttoError(error, end: end))
    }
    if isGathered { settleLater() } else { settle() }
    return result
  }
}
