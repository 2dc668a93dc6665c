import Atto
import AttoEventLoop

/// Changes that a loop over inputs waits for. The loop's thread only.
///
/// A caller notes ``count``, looks for something to do, and waits for a change after the one it noted:
/// one that comes on the way is not lost.
final class BTPChanges {
  private let loop: Loop
  private let waiters = WaiterList<Void, Void, AttoError>()
  private(set) var count: UInt64 = 0

  init(on loop: Loop) { self.loop = loop }

  func changed() {
    count += 1
    waiters.resumeAll(.success(()))
  }

  /// Waits for a change after the one with this number.
  func next(
    after number: UInt64, isolation: isolated (any Actor)? = #isolation
  ) async throws(AttoError) {
    try await loop.withLocalWaiter { (waiter: Waiter<Void, AttoError>) in
      guard count == number else { return waiter.resume(.success(())) }
      waiters.append(waiter)
    }
  }
}
