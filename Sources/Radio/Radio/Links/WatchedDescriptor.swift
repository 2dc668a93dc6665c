package import AttoEventLoop
import CAttoLinux

/// An owned descriptor that a loop watches. The loop's thread only.
///
/// ``end()`` must be called: the loop holds the handler until then.
package final class WatchedDescriptor: ReadinessHandler {
  package let descriptor: Int32
  private let loop: Loop
  private var watch: WatchID?
  private var body: ((Readiness) -> Void)?

  /// Takes ownership of the descriptor, and closes it if it cannot be watched.
  ///
  /// - Throws: `system` if it cannot be watched.
  package init(
    _ descriptor: Int32, on loop: Loop, _ body: @escaping (Readiness) -> Void
  ) throws(RadioError) {
    self.descriptor = descriptor
    self.loop = loop
    self.body = body
    do throws(LoopError) {
      watch = try loop.watch(descriptor, self)
    } catch {
      _ = close(descriptor)
      throw RadioError(error)
    }
  }

  package func ready(_ readiness: Readiness) { body?(readiness) }

  /// Has the body called again in the next turn.
  package func again() {
    if let watch { loop.reschedule(watch, .readable) }
  }

  /// Ends the watch and closes the descriptor; more than once does nothing.
  package func end() {
    guard let watch else { return }
    loop.unwatch(watch)
    self.watch = nil
    body = nil
    _ = close(descriptor)
  }
}
