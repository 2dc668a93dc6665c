import AttoLinks
import Synchronization

/// Takes the failures of pairing with one peer for as long as it is held.
///
/// A kernel that gives up pairing by itself keeps the link, and its socket waits. So whoever waits
/// for security needs the failure when it happens, not when the link ends.
package final class PairingWatch: Sendable {
  private struct State {
    var handler: (@Sendable (PairingFailure) -> Void)?
    /// A failure from before there was a handler.
    var early: PairingFailure?
  }

  let peer: BluetoothAddress
  private let state = Mutex(State())

  init(_ peer: BluetoothAddress) { self.peer = peer }

  /// Has this called with each failure, on the radio's loop; with an earlier one at once.
  package func setHandler(_ handler: @escaping @Sendable (PairingFailure) -> Void) {
    let early = state.withLock { state in
      state.handler = handler
      defer { state.early = nil }
      return state.early
    }
    if let early { handler(early) }
  }

  func failed(_ failure: PairingFailure) {
    let handler = state.withLock { state in
      if state.handler == nil { state.early = failure }
      return state.handler
    }
    handler?(failure)
  }
}
