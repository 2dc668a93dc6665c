internal import Atto
import Foundation

// Not Apple's: messages of any size to those who have subscribed, each with its length before it.

extension CBPeripheralManager {
  /// Sends a message in as many values as it takes, as fast as there is room, and returns when the
  /// last of them has been handed over. The other end puts it together with
  /// `CBPeripheral.messages(from:)` or ``MessageFraming``. Messages over one characteristic go one
  /// after another; values that `updateValue` sends meanwhile would mix with them.
  ///
  /// A central that leaves, or ends its subscription, is left out from there on; who subscribes
  /// while a message is on its way gets the next one.
  ///
  /// - Parameter centrals: only to these; nil: to all that have subscribed.
  /// - Throws: `CBError`: `operationCancelled` while Bluetooth is not on, `notConnected` if none of
  ///   the centrals has subscribed, `peripheralDisconnected` if all have gone before the end;
  ///   `CancellationError`, and ``MessageFraming/CutShort`` for messages to a central that got a part
  ///   of one then.
  public nonisolated(nonsending) func sendMessage(
    _ message: Data, for characteristic: CBMutableCharacteristic,
    onSubscribedCentrals centrals: [CBCentral]? = nil
  ) async throws {
    guard acceptsCommands() else { throw CBError(.operationCancelled) }
    try await characteristic.messageTurns.begin()
    defer { characteristic.messageTurns.end() }
    func subscribed() -> [CBCentral] {
      (characteristic.subscribedCentrals ?? []).filter { one in
        centrals?.contains { $0 === one } ?? true
      }
    }
    var targets = subscribed()
    guard let size = targets.map(\.maximumUpdateValueLength).min() else {
      throw CBError(.notConnected)
    }
    let stream = ObjectIdentifier(characteristic)
    guard !targets.contains(where: { $0.cutMessages.value.contains(stream) }) else {
      throw MessageFraming.CutShort()
    }
    var hasBegun = false
    var isWhole = false
    defer {
      if hasBegun, !isWhole {
        for central in targets { central.cutMessages.withLock { _ = $0.insert(stream) } }
      }
    }
    for piece in MessageFraming.pieces(of: message, size: size) {
      let ticket = try await window.awaitPlace()
      let now = subscribed()
      targets.removeAll { one in !now.contains { $0 === one } }
      guard !targets.isEmpty else { throw CBError(.peripheralDisconnected) }
      hasBegun = true
      send(piece, for: characteristic, to: targets, ticket)
    }
    isWhole = true
  }
}
