#if DEBUG
  import AttoATT
  import AttoGATT
  import Glibc
  import Synchronization

  /// Warns, in debug builds, of a handler that keeps a write's response until an indication to the same
  /// client is confirmed.
  enum IndicationAdvice {
    /// The client whose write a task handles. Tasks that a handler starts inherit it, but delay nothing.
    private struct Handled: Sendable {
      let client: ClientID
      let task: Int?
    }

    @TaskLocal private static var handled: Handled?
    private static let hasWarned = Mutex(false)
    static let report = Mutex<@Sendable (String) -> Void> { line in
      let octets = Array((line + "\n").utf8)
      _ = Glibc.write(STDERR_FILENO, octets, octets.count)
    }

    private static var task: Int? { withUnsafeCurrentTask { $0?.hashValue } }

    /// Runs the handler of a question.
    static func handling<Value: Sendable>(
      _ question: Question?, _ body: @Sendable () async -> Value
    ) async -> Value {
      guard let question, question.kind == .write || question.kind == .execute else {
        return await body()
      }
      return await $handled.withValue(Handled(client: question.client, task: task)) {
        await body()
      }
    }

    /// The client that waits for the handler in which the caller runs.
    static var writer: ClientID? {
      guard let handled, handled.task == task else { return nil }
      return handled.client
    }

    static func warn(_ handle: AttributeHandle) {
      let isFirst = hasWarned.withLock { hasWarned in
        defer { hasWarned = true }
        return !hasWarned
      }
      guard isFirst else { return }
      report.withLock { $0 }(
        "indicate(_:of:to:) of \(handle) in a handler of a write delays the response until the client"
          + " confirms: use beginIndicating(_:of:to:)")
    }
  }
#endif
