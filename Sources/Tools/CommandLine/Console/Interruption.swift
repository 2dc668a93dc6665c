import Atto
import AttoEventLoop
import CAttoLinux
import CLineEditor
import Glibc
import Synchronization

/// SIGINT, SIGTERM and SIGHUP: the first one cancels the command's task, a second one ends the process.
package enum Interruption {
  /// Blocks the signals. Must be called before any thread is started, because threads inherit the
  /// signal mask.
  package static func prepare() -> Int32 {
    let descriptor = clinux_signalfd_interrupt()
    Terminal.interruption.store(descriptor, ordering: .relaxed)
    return descriptor
  }

  private static let handler = Mutex<(@Sendable () -> Void)?>(nil)

  /// Calls a handler on the loop for each SIGINT, which then does not end the command.
  package static func handle(_ handler: (@Sendable () -> Void)?) {
    Self.handler.withLock { $0 = handler }
  }

  fileprivate static func handles(_ number: Int32) -> Bool {
    guard number == SIGINT, let handler = handler.withLock({ $0 }) else { return false }
    handler()
    return true
  }

  /// Runs a body; the signals cancel it.
  package static func watch(
    _ descriptor: Int32, on loop: Loop, _ body: @escaping @Sendable () async throws -> Void
  ) async throws {
    guard descriptor >= 0 else { return try await body() }
    let task = Task(executorPreference: loop.tasks) { try await body() }
    loop.execute {
      // The signals are blocked: a command that cannot watch for them could not be interrupted.
      if (try? loop.watch(descriptor, SignalHandler(descriptor) { task.cancel() })) == nil {
        task.cancel()
      }
    }
    try await task.value
  }
}

private final class SignalHandler: ReadinessHandler {
  private let descriptor: Int32
  private let body: () -> Void
  private var count = 0

  init(_ descriptor: Int32, _ body: @escaping () -> Void) {
    self.descriptor = descriptor
    self.body = body
  }

  func ready(_ readiness: Readiness) {
    while case let number = clinux_signalfd_read(descriptor), number != 0 {
      if Interruption.handles(number) { continue }
      count += 1
      Terminal.isInterrupted.store(true, ordering: .relaxed)
      if count > 1 {
        clineeditor_restore()
        _exit(3)
      }
      body()
    }
  }
}
