internal import Atto
import AttoGATT
import Foundation

// Calls that wait for their result; not in Apple's framework. They can be mixed with Apple's calls.
// They change `services` and `value` too, but do not call the delegate.

extension CBPeripheral {
  /// Discovers everything: services, included services, characteristics, descriptors.
  ///
  /// - Returns: ``services``.
  /// - Throws: `CBError`, `CBATTError`.
  public nonisolated(nonsending) func discoverAll() async throws -> [CBService] {
    try await result { (connection, remote) async throws(AttoError) in
      remote.commandsMayFollow()
      return try await connection.discover()
    } applying: { peripheral, found in
      peripheral.adoptAll(found)
      return UncheckedBox(peripheral.services ?? [])
    }.content
  }

  /// Reads a value of any length.
  ///
  /// - Throws: `CBError` (`notConnected`; `invalidParameters` for a characteristic that does not belong
  ///   to this peripheral, or that was invalidated), `CBATTError`.
  public nonisolated(nonsending) func read(_ characteristic: CBCharacteristic) async throws -> Data
  {
    let found = try reachable(characteristic)
    return try await result { (connection, remote) async throws(AttoError) in
      try await remote.performLast(ReadLongValue(found.valueHandle), on: connection)
    } applying: { _, octets in
      let value = Data(octets)
      characteristic.state.withLock { $0.value = value }
      return value
    }
  }

  /// Writes a value of up to 512 octets and waits for the response.
  ///
  /// - Throws: as ``read(_:)``.
  public nonisolated(nonsending) func write(
    _ data: Data, to characteristic: CBCharacteristic
  ) async throws {
    let found = try reachable(characteristic)
    let value = Array(data)
    try await result { (connection, remote) async throws(AttoError) in
      try await Self.write(found.valueHandle, value, connection, remote)
    } applying: { _, _ in
    }
  }

  /// The characteristic in the peer's database. Throws `notConnected` after the end of the connection,
  /// which invalidates all characteristics without a fault of the app.
  func reachable(_ characteristic: CBCharacteristic) throws -> Characteristic {
    guard state == .connected else { throw CBError(.notConnected) }
    if let found = mine(characteristic) { return found }
    throw CBError(state == .connected ? .invalidParameters : .notConnected)
  }

  /// Runs an operation and waits for its result. Cancelling the task throws `CancellationError` and
  /// sends nothing more; the response to a request that was sent is dropped.
  ///
  /// - Parameter apply: applies the result to the app's objects. It runs on the app's queue: by the time
  ///   the caller resumes, the connection may have ended.
  nonisolated(nonsending) func result<Output: Sendable, Shown: Sendable>(
    _ work: @escaping RemotePeripheral.Work<Output>,
    applying apply: @escaping (CBPeripheral, Output) -> Shown
  ) async throws -> Shown {
    try await call { (number, continuation) in
      let done = UncheckedBox<(CBPeripheral, Result<Output, any Error>) -> Void> {
        peripheral, result in
        continuation.resume(with: result.map { apply(peripheral, $0) })
      }
      RadioLoop.later { [remote] in remote.perform(number, work, done) }
    }
  }

  /// Registers a call with a continuation. The party that removes the registration resumes the
  /// continuation: `body`, the end of the connection, or the cancellation of the task.
  nonisolated(nonsending) func call<Output: Sendable>(
    _ body: (UInt64, CheckedContinuation<Output, any Error>) -> Void
  ) async throws -> Output {
    try Task.checkCancellation()
    guard state == .connected else { throw CBError(.notConnected) }
    let number = nextCall()
    let held = UncheckedBox(self)
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let isRegistered = register(number) { _, error in continuation.resume(throwing: error) }
        guard isRegistered else { return continuation.resume(throwing: CBError(.notConnected)) }
        body(number, continuation)
        // The task may have been cancelled before the call was registered.
        if Task.isCancelled { abandon(number) }
      }
    } onCancel: {
      held.content.abandon(number)
    }
  }

  private func abandon(_ number: UInt64) {
    guard let call = removeCall(number) else { return }
    call.fail(self, CancellationError())
    RadioLoop.later { [remote] in remote.abandon(number) }
  }
}
