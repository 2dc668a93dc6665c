internal import Atto
import Foundation

// Not Apple's: messages of any size over a characteristic, each with its length before it.

extension CBPeripheral {
  /// Sends a message in as many writes as it takes: without response where the characteristic
  /// offers that, as fast as there is room; else with. The other end puts it together with
  /// ``MessageFraming``. Messages over one characteristic go one after another; writes of one's own
  /// would mix with them.
  ///
  /// - Throws: `CBError`, `CBATTError`, `CancellationError`. If a part had gone by then, further
  ///   messages of this connection fail with ``MessageFraming/CutShort``.
  public nonisolated(nonsending) func sendMessage(
    _ message: Data, to characteristic: CBCharacteristic
  ) async throws {
    let isQuick = characteristic.properties.contains(.writeWithoutResponse)
    // A length of 0 is that of a peripheral that is not connected.
    let size = maximumWriteValueLength(for: .withoutResponse)
    guard size > 0 else { throw CBError(.notConnected) }
    _ = try inReach(characteristic)
    try await characteristic.messageTurns.begin()
    defer { characteristic.messageTurns.end() }
    let connection = shown.value.connections
    guard characteristic.cutMessages.value != connection else { throw MessageFraming.CutShort() }
    var hasBegun = false
    var isWhole = false
    defer { if hasBegun, !isWhole { characteristic.cutMessages.value = connection } }
    for piece in MessageFraming.pieces(of: message, size: size) {
      if isQuick {
        while !canSendWriteWithoutResponse { try await awaitRoom() }
        try Task.checkCancellation()
        hasBegun = true
        writeValue(piece, for: characteristic, type: .withoutResponse)
      } else {
        try Task.checkCancellation()
        hasBegun = true
        try await write(piece, to: characteristic)
      }
    }
    isWhole = true
  }

  /// Waits until there is room for writes without response.
  private nonisolated(nonsending) func awaitRoom() async throws {
    try await call { (number, continuation: CheckedContinuation<Void, any Error>) in
      let hasRoom = shown.withLock { shown in
        if shown.commands < Self.commandLimit { return true }
        shown.wantsRoom = true
        shown.roomCalls.append((number, continuation))
        return false
      }
      if hasRoom, take(number) { continuation.resume() }
    }
  }

  /// There is room again.
  func tellRoom() {
    let calls = shown.withLock { shown in
      defer { shown.roomCalls = [] }
      return shown.roomCalls
    }
    for (number, continuation) in calls where take(number) { continuation.resume() }
  }

  /// The messages that a peer notifies, each of which was cut by ``MessageFraming``. The sequence
  /// is that of ``notifications(for:)`` else; it throws ``MessageFraming/TooLong`` too.
  ///
  /// - Parameter limit: octets of a message.
  public func messages(
    from characteristic: CBCharacteristic, limit: Int = 1_048_576
  ) -> CBMessages {
    CBMessages(values: notifications(for: characteristic), limit: limit)
  }
}

/// Messages that were cut into values.
public struct CBMessages: AsyncSequence {
  public typealias Element = Data

  let values: CBNotifications
  let limit: Int

  public func makeAsyncIterator() -> Iterator {
    Iterator(values: values.makeAsyncIterator(), framing: MessageFraming(limit: limit))
  }

  public struct Iterator: AsyncIteratorProtocol {
    var values: CBNotifications.Iterator
    var framing: MessageFraming
    var complete: ArraySlice<Data> = []

    public mutating func next() async throws -> Data? { try await next(isolation: nil) }

    public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Data? {
      while complete.isEmpty {
        guard let value = try await values.next(isolation: actor) else { return nil }
        complete = try framing.take(value)[...]
      }
      return complete.popFirst()
    }
  }
}
