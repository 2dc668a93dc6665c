internal import Atto
import Foundation

extension CBPeripheralManager {
  /// Sends a message of any size to subscribed centrals, in as many values as needed and as fast as
  /// there is room. Returns when the last value is queued. The other end reassembles the message with
  /// `CBPeripheral.messages(from:)` or ``MessageFraming``. Messages over one characteristic are sent one
  /// after another. Do not call `updateValue` for the characteristic meanwhile. Not in Apple's
  /// framework.
  ///
  /// A central that disconnects or unsubscribes gets no further pieces. A central that subscribes
  /// during a message gets the next one.
  ///
  /// - Parameter centrals: the centrals to send it to; nil: all subscribed ones.
  /// - Throws: `CBError`: `operationCancelled` while Bluetooth is not on, `notConnected` if none of
  ///   the centrals is subscribed, `peripheralDisconnected` if all have left before the end;
  ///   `CancellationError`; ``MessageFraming/CutShort`` if an earlier message to one of the centrals was
  ///   cut short.
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
