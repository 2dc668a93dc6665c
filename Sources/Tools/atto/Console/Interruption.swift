import Atto
import AttoEventLoop
import CAttoLinux
import Glibc
import Synchronization

/// SIGINT, SIGTERM and SIGHUP: the first one cancels the command's task, a second one ends the process.
enum Interruption {
  /// Blocks the signals. Must be called before any thread is started, because threads inherit the
  /// signal mask.
  static func prepare() -> Int32 {
    let descriptor = clinux_signalfd_interrupt()
    Terminal.interruption.store(descriptor, ordering: .relaxed)
    return descriptor
  }

  /// Runs a body; the signals cancel it.
  static func watch(
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
    while clinux_signalfd_read(descriptor) != 0 {
      count += 1
      Terminal.isInterrupted.store(true, ordering: .relaxed)
      if count > 1 { _exit(3) }
      body()
    }
  }
}
