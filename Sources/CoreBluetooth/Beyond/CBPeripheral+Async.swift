internal import Atto
import Foundation

// Not Apple's: calls that wait for their result. They may be mixed with those that call the
// delegate; it is told as well of what changes (`services`, `value`), not of these calls.

extension CBPeripheral {
  /// Discovers everything: services, what they include, characteristics, descriptors.
  ///
  /// - Returns: ``services``.
  /// - Throws: `CBError`, `CBATTError`.
  public nonisolated(nonsending) func discoverAll() async throws -> [CBService] {
    try await result { (connection, _) async throws(AttoError) in
      try await connection.discover()
    } applying: { peripheral, found in
      peripheral.adoptAll(found)
      return Carried(peripheral.services ?? [])
    }.content
  }

  /// Reads a value, to its end.
  ///
  /// - Throws: `CBError` (`notConnected`; `invalidParameters` for a characteristic that is not this
  ///   peripheral's, or of before its services have changed), `CBATTError`.
  public nonisolated(nonsending) func read(_ characteristic: CBCharacteristic) async throws -> Data
  {
    let found = try inReach(characteristic)
    return try await result { (connection, _) async throws(AttoError) in
      try await connection.readLong(found.valueHandle)
    } applying: { _, octets in
      let value = Data(octets)
      characteristic.state.withLock { $0.value = value }
      return value
    }
  }

  /// Writes a value of up to 512 octets, and waits for the response.
  ///
  /// - Throws: as ``read(_:)``.
  public nonisolated(nonsending) func write(
    _ data: Data, to characteristic: CBCharacteristic
  ) async throws {
    let found = try inReach(characteristic)
    let value = Array(data)
    try await result { (connection, _) async throws(AttoError) in
      try await Self.write(found.valueHandle, value, connection)
    } applying: { _, _ in
    }
  }

  /// Where a characteristic of this peripheral is. Its services go with the connection: who comes
  /// too late has made no mistake, and is told so.
  func inReach(_ characteristic: CBCharacteristic) throws -> Characteristic {
    guard state == .connected else { throw CBError(.notConnected) }
    if let found = mine(characteristic) { return found }
    throw CBError(state == .connected ? .invalidParameters : .notConnected)
  }

  /// Waits for a call's result. Cancelled, it ends with `CancellationError`, and nothing more is
  /// sent for it; a request that is on its way is answered still.
  ///
  /// - Parameter apply: makes what the app sees of the result. On the queue, as all such changes
  ///   are: where the one who waits goes on, a later call may have been answered already, or the
  ///   connection have ended.
  nonisolated(nonsending) func result<Output: Sendable, Shown: Sendable>(
    _ work: @escaping RemotePeripheral.Work<Output>,
    applying apply: @escaping (CBPeripheral, Output) -> Shown
  ) async throws -> Shown {
    try await call { (number, continuation) in
      let remote = remote
      let done = Carried<(CBPeripheral, Result<Output, any Error>) -> Void> { peripheral, result in
        continuation.resume(with: result.map { apply(peripheral, $0) })
      }
      RadioLoop.later { remote.perform(number, work, done) }
    }
  }

  /// Registers a call that somebody awaits: `body` sees to it that who takes the registration
  /// resumes the continuation. The end of the connection and cancellation do so too.
  nonisolated(nonsending) func call<Output: Sendable>(
    _ body: (UInt64, CheckedContinuation<Output, any Error>) -> Void
  ) async throws -> Output {
    try Task.checkCancellation()
    guard state == .connected else { throw CBError(.notConnected) }
    let held = Carried(self)
    let place = Guarded<(number: UInt64?, isCancelled: Bool)>((nil, false))
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let number = register { _, error in continuation.resume(throwing: error) }
        guard let number else { return continuation.resume(throwing: CBError(.notConnected)) }
        body(number, continuation)
        let isCancelled = place.withLock { place in
          place.number = number
          return place.isCancelled
        }
        if isCancelled { abandon(number) }
      }
    } onCancel: {
      let number = place.withLock { place in
        place.isCancelled = true
        return place.number
      }
      if let number { held.content.abandon(number) }
    }
  }

  /// Nobody awaits it any more.
  private func abandon(_ number: UInt64) {
    guard let call = takeCall(number) else { return }
    call.fail(self, CancellationError())
    let remote = remote
    RadioLoop.later { remote.abandon(number) }
  }
}
