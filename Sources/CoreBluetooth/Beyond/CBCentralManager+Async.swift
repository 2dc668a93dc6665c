import Foundation

extension CBCentralManager {
  /// Not Apple's: connects, and waits for it, however long that takes. Cancelled, it ends the wish
  /// for the connection. The delegate is told as well.
  ///
  /// - Parameter options: `CBConnectPeripheralOption...Key`.
  /// - Throws: `CBError`: why it failed; `operationCancelled` while Bluetooth is not on, when it
  ///   goes off, and after `cancelPeripheralConnection`. `CancellationError`.
  public nonisolated(nonsending) func openConnection(
    to peripheral: CBPeripheral, options: [String: Any]? = nil
  ) async throws {
    try Task.checkCancellation()
    guard state == .poweredOn, peripheral.manager === self else {
      connect(peripheral, options: options)
      throw CBError(state == .poweredOn ? .invalidParameters : .operationCancelled)
    }
    let held = Carried((self, peripheral))
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let isOpen = peripheral.shown.withLock { shown in
          if shown.state == .connected { return true }
          shown.openings.append(continuation)
          return false
        }
        guard !isOpen else { return continuation.resume() }
        connect(peripheral, options: options)
        // One that was cancelled before it stood in the list.
        if Task.isCancelled { cancelPeripheralConnection(peripheral) }
      }
    } onCancel: {
      let (manager, peripheral) = held.content
      let openings = peripheral.shown.withLock { shown in
        defer { shown.openings = [] }
        return shown.openings
      }
      for opening in openings { opening.resume(throwing: CancellationError()) }
      manager.cancelPeripheralConnection(peripheral)
    }
  }
}
