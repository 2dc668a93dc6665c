import AttoEventLoop
import CAttoLinux

/// Calls that may block, each on a thread of its own, away from the loop.
package enum Blocking {
  private final class Body {
    let run: @Sendable () -> Void
    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
  }

  /// Runs `body` on a new thread, then `done` with its result on the loop; with nil if the system has
  /// no thread left.
  package static func run<Value: Sendable>(
    on loop: Loop, _ body: @escaping @Sendable () -> Value,
    done: @escaping @Sendable (Value?) -> Void
  ) {
    let context = Unmanaged.passRetained(
      Body {
        let value = body()
        loop.execute { done(value) }
      })
    let result = clinux_thread_start(
      { context in
        clinux_thread_name("atto-disk")
        Unmanaged<Body>.fromOpaque(context!).takeRetainedValue().run()
        return nil
      }, context.toOpaque(), 0)
    guard result != 0 else { return }
    context.release()
    loop.execute { done(nil) }
  }

  /// The result of `body` on a new thread; nil if the system has no thread left.
  package static func result<Value: Sendable>(
    on loop: Loop, _ body: @escaping @Sendable () -> Value
  ) async -> Value? {
    await withCheckedContinuation { continuation in
      run(on: loop, body) { continuation.resume(returning: $0) }
    }
  }
}
