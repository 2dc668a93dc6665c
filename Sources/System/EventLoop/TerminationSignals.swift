import CAttoLinux
import Glibc

/// Reports the first SIGINT or SIGTERM on a loop. The default actions are in effect from then on, so a
/// second signal ends the process.
///
/// Signals are the process's, so there is at most one such object. Used on the loop's thread.
package final class TerminationSignals: ReadinessHandler {
  private let body: () -> Void
  private let loop: Loop
  private var watch: WatchID?

  /// - Parameter body: called once.
  package init(on loop: Loop, _ body: @escaping () -> Void) throws(LoopError) {
    self.body = body
    self.loop = loop
    let descriptor = clinux_termination_begin()
    precondition(descriptor != -EBUSY, "the process's signals are handled already")
    guard descriptor >= 0 else { throw LoopError(.createWakeUp, errno: -descriptor) }
    do throws(LoopError) {
      watch = try loop.watch(descriptor, trigger: .level, self)
    } catch {
      clinux_termination_end()
      throw error
    }
  }

  package func ready(_ readiness: Readiness) {
    end()
    body()
  }

  /// Reports nothing more. The caller restores the actions with ``restore()``.
  package func end() {
    if let watch { loop.unwatch(watch) }
    watch = nil
  }

  /// Restores the actions that the signals had before. On any thread.
  package static func restore() { clinux_termination_end() }
}
