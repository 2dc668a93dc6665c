internal import Atto
import Foundation

// Messages of any size over a characteristic, each with a length prefix; not in Apple's framework.

extension CBPeripheral {
  /// Sends a message in as many writes as needed: without response if the characteristic supports it,
  /// as fast as there is room, else with response. The other end reassembles it with
  /// ``MessageFraming``. Messages over one characteristic are sent one after another. Do not write to
  /// the characteristic meanwhile.
  ///
  /// - Throws: `CBError`, `CBATTError`, `CancellationError`. If only a part was sent, further messages
  ///   of this connection fail with ``MessageFraming/CutShort``.
  public nonisolated(nonsending) func sendMessage(
    _ message: Data, to characteristic: CBCharacteristic
  ) async throws {
    let isQuick = characteristic.properties.contains(.writeWithoutResponse)
    _ = try reachable(characteristic)
    let size = maximumWriteValueLength(for: .withoutResponse)
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

  private nonisolated(nonsending) func awaitRoom() async throws {
    try await call { (number, continuation: CheckedContinuation<Void, any Error>) in
      let hasRoom = shown.withLock { shown in
        if shown.commands < Self.commandLimit { return true }
        shown.isWaitingForRoom = true
        shown.roomCalls.append((number, continuation))
        return false
      }
      if hasRoom, complete(number) { continuation.resume() }
    }
  }

  /// Returns the messages that a peer notifies in pieces of ``MessageFraming``. The sequence behaves
  /// like ``notifications(for:)``; it also throws ``MessageFraming/TooLong``.
  ///
  /// - Parameter limit: the longest message, in octets.
  public func messages(
    from characteristic: CBCharacteristic, limit: Int = 1_048_576
  ) -> CBMessages {
    CBMessages(values: notifications(for: characteristic), limit: limit)
  }
}

/// Messages that are reassembled from notified values.
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

    public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Data? {
      while complete.isEmpty {
        guard let value = try await values.next(isolation: actor) else { return nil }
        complete = try framing.receive(value)[...]
      }
      return complete.popFirst()
    }
  }
}
