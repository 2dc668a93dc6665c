import Foundation

extension CBCentralManager {
  /// Connects, and waits for the connection without a timeout. The delegate is called too. Cancelling
  /// the task cancels the attempt, also for others that wait for it. Not in Apple's framework.
  ///
  /// - Parameter options: `CBConnectPeripheralOption...Key`.
  /// - Throws: `CBError`: the reason of the failure; `operationCancelled` while Bluetooth is not on,
  ///   when it is switched off, and after `cancelPeripheralConnection`; `invalidParameters` for a
  ///   peripheral of another manager, or one that was invalidated. `CancellationError`.
  public nonisolated(nonsending) func openConnection(
    to peripheral: CBPeripheral, options: [String: Any]? = nil
  ) async throws {
    try Task.checkCancellation()
    guard acceptsCommands() else { throw CBError(.operationCancelled) }
    guard isMine(peripheral) else { throw CBError(.invalidParameters) }
    let held = UncheckedBox((self, peripheral))
    let number = peripheral.nextCall()
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let isOpen = peripheral.shown.withLock { shown in
          if shown.state == .connected { return true }
          shown.openings.append((number, continuation))
          beginConnecting(peripheral, &shown, options: options)
          return false
        }
        guard !isOpen else { return continuation.resume() }
        // The task may have been cancelled before the call was in the list.
        if Task.isCancelled { cancelOpening(number, of: peripheral) }
      }
    } onCancel: {
      held.content.0.cancelOpening(number, of: held.content.1)
    }
  }

  private func cancelOpening(_ number: UInt64, of peripheral: CBPeripheral) {
    let opening = peripheral.shown.withLock { shown in
      shown.openings.firstIndex { $0.number == number }.map { shown.openings.remove(at: $0) }
    }
    guard let opening else { return }
    opening.continuation.resume(throwing: CancellationError())
    cancelPeripheralConnection(peripheral)
  }
}
