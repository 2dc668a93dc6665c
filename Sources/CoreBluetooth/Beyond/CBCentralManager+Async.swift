import Foundation

extension CBCentralManager {
  /// Not Apple's: connects, and waits for it, however long that takes. Cancelled, it ends the wish
  /// for the connection, for others who wait for it too. The delegate is told as well.
  ///
  /// - Parameter options: `CBConnectPeripheralOption...Key`.
  /// - Throws: `CBError`: why it failed; `operationCancelled` while Bluetooth is not on, when it
  ///   goes off, and after `cancelPeripheralConnection`; `invalidParameters` for a peripheral of
  ///   another manager, or of a former state of this one. `CancellationError`.
  public nonisolated(nonsending) func openConnection(
    to peripheral: CBPeripheral, options: [String: Any]? = nil
  ) async throws {
    try Task.checkCancellation()
    guard acceptsCommands() else { throw CBError(.operationCancelled) }
    guard isMine(peripheral) else { throw CBError(.invalidParameters) }
    let held = Carried((self, peripheral))
    let number = peripheral.shown.withLock { shown in
      shown.lastCall += 1
      return shown.lastCall
    }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let isOpen = peripheral.shown.withLock { shown in
          if shown.state == .connected { return true }
          shown.openings.append((number, continuation))
          want(peripheral, &shown, options: options)
          return false
        }
        guard !isOpen else { return continuation.resume() }
        // One that was cancelled before it stood in the list.
        if Task.isCancelled { giveUpOpening(number, of: peripheral) }
      }
    } onCancel: {
      held.content.0.giveUpOpening(number, of: held.content.1)
    }
  }

  /// Ends the wish for a connection that has not come.
  private func giveUpOpening(_ number: UInt64, of peripheral: CBPeripheral) {
    let opening = peripheral.shown.withLock { shown in
      shown.openings.firstIndex { $0.number == number }.map { shown.openings.remove(at: $0) }
    }
    guard let opening else { return }
    opening.continuation.resume(throwing: CancellationError())
    cancelPeripheralConnection(peripheral)
  }
}
