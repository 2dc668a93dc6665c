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
    let found = try await result { (connection, _) async throws(AttoError) in
      try await connection.discover()
    }
    adoptAll(found)
    return services ?? []
  }

  /// Reads a value, to its end.
  ///
  /// - Throws: `CBError`, `CBATTError`.
  public nonisolated(nonsending) func read(_ characteristic: CBCharacteristic) async throws -> Data
  {
    guard let found = mine(characteristic) else { throw CBError(.invalidParameters) }
    let value = Data(
      try await result { (connection, _) async throws(AttoError) in
        try await connection.readLong(found.valueHandle)
      })
    characteristic.state.withLock { $0.value = value }
    return value
  }

  /// Writes a value of up to 512 octets, and waits for the response.
  ///
  /// - Throws: `CBError`, `CBATTError`.
  public nonisolated(nonsending) func write(
    _ data: Data, to characteristic: CBCharacteristic
  ) async throws {
    guard let found = mine(characteristic) else { throw CBError(.invalidParameters) }
    let value = Array(data)
    try await result { (connection, _) async throws(AttoError) in
      try await Self.write(found.valueHandle, value, connection)
    }
  }

  /// Waits for a call's result.
  private nonisolated(nonsending) func result<Output: Sendable>(
    _ work: @escaping RemotePeripheral.Work<Output>
  ) async throws -> Output {
    guard state == .connected else { throw CBError(.notConnected) }
    return try await withCheckedThrowingContinuation { continuation in
      let number = register { _, error in continuation.resume(throwing: error) }
      guard let number else { return continuation.resume(throwing: CBError(.notConnected)) }
      let remote = remote
      let done = Carried<(CBPeripheral, Result<Output, any Error>) -> Void> { _, result in
        continuation.resume(with: result)
      }
      RadioLoop.later { remote.perform(number, work, done) }
    }
  }
}
