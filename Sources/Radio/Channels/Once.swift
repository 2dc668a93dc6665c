import Synchronization

/// Tells the first call from all others, on any thread.
final class Once: Sendable {
  private let isDone = Atomic<Bool>(false)
  var isFirst: Bool { !isDone.exchange(true, ordering: .relaxed) }
}
