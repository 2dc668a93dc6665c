import Atto

/// Says once, on standard error, what a command has been waiting for since it began to wait: who
/// sees nothing for some seconds wants to know why.
struct SilenceNote {
  /// What answers takes less.
  static let patience: Duration = .seconds(3)

  private let task: Task<Void, any Error>

  /// Begins to wait. ``end()`` must be called.
  init(_ text: String, on loop: Loop) {
    task = Task(executorPreference: loop.tasks) {
      try await loop.sleep(for: Self.patience)
      Terminal.note(text)
    }
  }

  /// Begins to look at the requests of a connection, whichever they are. ``end()`` must be called.
  init(responsesOn connection: Connection, within time: Duration, on loop: Loop) {
    task = Task(executorPreference: loop.tasks) {
      while true {
        try await loop.sleep(for: .seconds(1))
        guard let awaited = try await connection.awaitedRequest,
          time - awaited.left >= Self.patience
        else { continue }
        Terminal.note(Self.text(awaited.opcode, left: awaited.left))
        return
      }
    }
  }

  /// What was waited for is there, or will not be.
  func end() { task.cancel() }

  /// What is said of a request that has no response yet.
  static func text(_ opcode: Opcode, left: Duration) -> String {
    "waiting for the response to \(opcode), for \(max(1, left.components.seconds + 1)) s more"
      + " (--timeout SECONDS)"
  }
}
