import Atto
import CLinux
import Glibc
import Synchronization

/// Ctrl-C, and the end that a service manager asks for: the command's task is cancelled, and it
/// ends as it does at any cancellation. A second signal ends the process.
enum Interruption {
  /// Must be called before any thread is started: threads inherit what is blocked.
  static func prepare() -> Int32 {
    let descriptor = clinux_signalfd_interrupt()
    Terminal.interruption.store(descriptor, ordering: .relaxed)
    return descriptor
  }

  /// Runs a body that is cancelled by SIGINT or SIGTERM.
  static func watch(
    _ descriptor: Int32, on loop: Loop, _ body: @escaping @Sendable () async throws -> Void
  ) async throws {
    guard descriptor >= 0 else { return try await body() }
    let task = Task(executorPreference: loop.tasks) { try await body() }
    loop.execute {
      // Without a watch signals are blocked and nothing ends the command: so it is not begun.
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
    while clinux_signalfd_take(descriptor) != 0 {
      count += 1
      Terminal.isInterrupted.store(true, ordering: .relaxed)
      if count > 1 { _exit(3) }
      body()
    }
  }
}
