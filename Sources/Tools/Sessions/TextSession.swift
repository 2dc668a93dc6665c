import Atto
import AttoCommandLine

/// The lines of a session as text: of a script, or of a person at a terminal.
///
/// A line is carried out to its end before the next one, except subscriptions, which deliver values
/// from then on, and lines that end in `&`.
actor TextSession {
  nonisolated let session: CommandSession
  private let loop: Loop
  nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

  /// Called with the failure of a request in the background, and its command.
  private let whenFailed: @Sendable (any Error, String) -> Void
  private var lastID = 0
  var variables: [String: String] = [:]
  private(set) var isOver = false
  /// How deep the line in progress lies in others.
  var depth = 0

  init(_ session: CommandSession, whenFailed: @escaping @Sendable (any Error, String) -> Void) {
    self.session = session
    loop = session.loop
    self.whenFailed = whenFailed
  }

  /// Opens the first connection with the session's own arguments.
  func connect(_ arguments: Arguments) async throws {
    let id = nextID()
    let task = try await session.start(
      SessionCommands.Command(own: ConnectCommand.self), arguments, as: id)
    try await task.valueOrCancel
  }

  /// Carries out a line. Cancelling the task ends the line's command.
  ///
  /// - Throws: `UsageError`, what its command throws, and `CheckFailure` where `expect` fails.
  func run(_ line: String) async throws {
    try await run(words: SessionLine(line) { [variables] in variables[$0] }.words)
  }

  /// The same for a line that is split into words.
  func run(words: [String]) async throws {
    guard let name = words.first else { return }
    if let own = ScriptCommand(rawValue: name) {
      try await run(own, Array(words.dropFirst()))
    } else {
      try await carryOut(words)
    }
  }

  /// Carries out a command of the session.
  func carryOut(_ words: [String]) async throws {
    let isInBackground = words.last == "&"
    let words = isInBackground ? words.dropLast() : words[...]
    guard let name = words.first else { throw UsageError("missing command before &") }
    let id = nextID()
    let request = SessionRequest(id: id, command: name, words: Array(words.dropFirst()))
    let task = try await session.start(request)
    if try isInBackground || session.commands.named(name).takesTurns {
      await withTaskCancellationHandler {
        await session.hasBegun(id)
      } onCancel: {
        task.cancel()
      }
      if await session.isInProgress(id) {
        Task(executorPreference: loop.tasks) { [whenFailed] in
          do { try await task.value } catch {
            if !ExitStatus(error).isInterruption { whenFailed(error, name) }
          }
        }
        return
      }
    }
    try await task.valueOrCancel
  }

  func end() { isOver = true }

  private func nextID() -> RequestID {
    lastID += 1
    return .number(lastID)
  }
}
