internal import Atto
import AttoATT
import AttoGATT
import Foundation

extension RemotePeripheral {
  typealias Work<Output> =
    @RadioLoop @Sendable (Connection, RemotePeripheral)
    async throws(AttoError) -> Output

  /// Starts an operation after those of earlier calls, and posts its result if the registration with
  /// this number still exists.
  func perform<Output: Sendable>(
    _ number: UInt64, _ work: @escaping Work<Output>,
    _ done: UncheckedBox<(CBPeripheral, Result<Output, any Error>) -> Void>
  ) {
    outgoing.append(
      .start(number) { [weak self] connection in
        guard let self else { return }
        let operations = operations
        underWay[number] = operations.append { [weak self] in
          guard let self else { return }
          defer {
            underWay[number] = nil
            deliverBufferedValues()
            commandsMayFollow(number)
          }
          current = number
          // The operations may have been dropped, or the call cancelled, while it waited. The end of
          // the connection fails all calls, even those that need no peer.
          guard self.operations === operations,
            object.value.object?.isRegistered(number) ?? false, connection.endReasonNow == nil
          else { return }
          let result: Result<Output, any Error>
          do throws(AttoError) {
            result = .success(try await Self.secured(connection, self, work))
          } catch {
            if connection.endReasonNow != nil { return }
            result = .failure(ErrorMapping.error(of: error))
          }
          post { _, peripheral in
            if peripheral.complete(number) { done.content(peripheral, result) }
          }
        }
      })
    pump()
  }

  /// Runs an operation. If the peer requires more security, raises it and runs the operation again.
  /// Where the radio may not pair, the peer's refusal is the result.
  static func secured<Output>(
    _ connection: Connection, _ remote: RemotePeripheral, _ work: Work<Output>
  ) async throws(AttoError) -> Output {
    for level in [SecurityLevel.medium, .high] {
      do throws(AttoError) {
        return try await work(connection, remote)
      } catch {
        guard case .refused(let response) = error,
          response.code == .insufficientEncryption
            || response.code == .insufficientAuthentication,
          connection.securityNow.level < level, remote.manager.choice.isPairable
        else { throw error }
        remote.refusal = (remote.current, ErrorMapping.attError(response.code))
        try await connection.raiseSecurity(to: level)
        remote.refusal = nil
      }
    }
    return try await work(connection, remote)
  }

  /// Runs the last procedure of the current operation. Commands may follow its first request.
  ///
  /// That is right for a procedure with one request. One with several, as a long read, changes nothing
  /// at the peer.
  func performLast<P: Procedure & Sendable>(
    _ procedure: P, on connection: Connection
  ) async throws(AttoError) -> P.Output {
    let number = current
    return try await connection.perform(
      AnnouncedProcedure(procedure) { [weak self] in
        RadioLoop.later { self?.commandsMayFollow(number) }
      })
  }

  /// Commands may follow the current operation, which does not change anything at the peer.
  func commandsMayFollow() { commandsMayFollow(current) }

  private func commandsMayFollow(_ number: UInt64) {
    if outgoing.sent(number) { pump() }
  }

  /// Cancels an operation whose caller has stopped waiting.
  func abandon(_ number: UInt64) { underWay[number]?.cancel() }

  /// Writes without response, in the order of the calls.
  func command(_ handle: AttributeHandle, _ value: Data) {
    outgoing.append(.command(handle, Array(value)))
    pump()
  }

  /// Drops what waits to be sent or run. The block that reports the end of the connection fails the
  /// registered calls.
  func dropOperations() {
    outgoing = OutgoingQueue()
    operations = TaskChain()
  }

  private func pump() {
    guard let connection = link?.connection, isConnected else { return dropOperations() }
    while !isWaitingForRoom, let next = outgoing.first {
      switch next {
      case .start(let number, let body):
        outgoing.removeFirst()
        outgoing.began(number)
        body(connection)
      case .command(let handle, let value):
        do throws(AttoError) {
          guard try connection.writeWithoutResponseNow(value.span.bytes, to: handle) else {
            return awaitRoom(connection)
          }
        } catch {
          // The end of the connection is reported anyway.
          if connection.endReasonNow == nil {
            Warning.log("dropped a write without response: \(error)")
          }
        }
        outgoing.removeFirst()
        commandSent()
      }
    }
  }

  private func commandSent() {
    guard let peripheral = object.value.object, peripheral.commandSent() else { return }
    post { _, peripheral in
      guard peripheral.state == .connected else { return }
      peripheral.finishRoomCalls()
      peripheral.delegate?.peripheralIsReady(toSendWriteWithoutResponse: peripheral)
    }
  }

  private func awaitRoom(_ connection: Connection) {
    isWaitingForRoom = true
    Task { @RadioLoop [weak self] in
      try? await connection.awaitRoom()
      self?.isWaitingForRoom = false
      self?.pump()
    }
  }
}

/// A procedure that calls back when a request of it goes out.
private struct AnnouncedProcedure<Base: Procedure & Sendable>: Procedure, Sendable {
  private var base: Base
  private let sent: @Sendable () -> Void

  /// - Parameter sent: called while the request is encoded: it must not use the connection.
  init(_ base: Base, sent: @escaping @Sendable () -> Void) {
    self.base = base
    self.sent = sent
  }

  static var preparesWrites: Bool { Base.preparesWrites }

  mutating func encodeRequest(into out: inout OutputRawSpan) throws(ProcedureError) {
    try base.encodeRequest(into: &out)
    sent()
  }

  mutating func receive(
    _ response: borrowing PDU, mtu: Int
  ) throws(ProcedureError) -> Step<Base.Output> {
    try base.receive(response, mtu: mtu)
  }

  mutating func cancel() -> Bool { base.cancel() }
}
