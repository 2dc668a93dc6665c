import CLinux
import EventLoop

/// A descriptor that is owned and under a loop's watch. The loop's thread only.
///
/// `end()` unwatches and closes; it must be called, since the loop holds the handler until then.
final class WatchedDescriptor: ReadinessHandler {
  let descriptor: Int32
  private let loop: Loop
  private var watch: WatchID?
  private var body: ((Readiness) -> Void)?

  /// Takes the descriptor over, and closes it if it cannot be watched.
  init(
    _ descriptor: Int32, on loop: Loop, _ body: @escaping (Readiness) -> Void
  ) throws(RadioError) {
    self.descriptor = descriptor
    self.loop = loop
    self.body = body
    do {
      watch = try loop.watch(descriptor, self)
    } catch {
      _ = close(descriptor)
      throw .system("watch a descriptor", errno: error.errno)
    }
  }

  func ready(_ readiness: Readiness) { body?(readiness) }

  /// Has the body called again in the next turn.
  func again() {
    if let watch { loop.reschedule(watch, .readable) }
  }

  /// Ends the watch and closes the descriptor.
  func end() {
    guard release() != nil else { return }
    _ = close(descriptor)
  }

  /// Ends the watch and gives the descriptor to the caller; nil if it was given or closed before.
  func release() -> Int32? {
    guard let watch else { return nil }
    loop.unwatch(watch)
    self.watch = nil
    body = nil
    return descriptor
  }
}
