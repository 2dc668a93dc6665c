import Atto
import AttoCommandLine
import Glibc
import Synchronization

/// `atto session` at a terminal: lines are typed while values arrive.
///
/// Ctrl-C ends the command in progress, or discards what is typed; Ctrl-D ends the session.
package enum Shell {
  package static func run(
    _ commands: SessionCommands, connecting: Arguments?, on loop: Loop
  ) async throws {
    let session = CommandSession(commands, on: loop, isJSON: false) { event in
      guard case .disconnected(let name, let error) = event else { return }
      Terminal.note("\(name): " + (error.map { ExitStatus($0).message } ?? "disconnected"))
    }
    let text = TextSession(session) { error, command in
      Terminal.note("\(command): \(ExitStatus(error).message)")
    }
    if let connecting { try await text.connect(connecting) }
    // The prompt comes below them.
    await Terminal.written()
    let entered = EnteredLines()
    let lines = lines(of: commands, session, entered, on: loop)
    Interruption.handle { if !entered.interrupt() { LineEditor.discard() } }
    defer { Interruption.handle(nil) }
    let (typed, queue) = AsyncStream<String>.makeStream()
    let reading = Task(executorPreference: loop.tasks) {
      for await line in lines {
        if await session.isAsking {
          try? await session.answer(line)
          entered.end()
        } else {
          queue.yield(line)
        }
      }
      queue.finish()
    }
    for await line in typed {
      let task = Task(executorPreference: loop.tasks) { try await text.run(line) }
      entered.begin(task)
      do {
        try await task.valueOrCancel
      } catch {
        let status = ExitStatus(error)
        Terminal.note(status.message)
        for hint in status.hints { Terminal.note("hint: \(hint)") }
      }
      entered.end()
      await Terminal.room()
      if await text.isOver { break }
    }
    await session.end(cancelling: true)
    if LineEditor.end() {
      // Until the terminal is as it was.
      await reading.value
    } else {
      reading.cancel()
    }
    if Task.isCancelled { throw CancellationError() }
  }

  private static func lines(
    of commands: SessionCommands, _ session: CommandSession, _ entered: EnteredLines,
    on loop: Loop
  ) -> AsyncStream<String> {
    let descriptions =
      commands.all.map(\.description) + ScriptCommand.allCases.map(\.description)
    let lines = LineEditor.start(
      prompt: "atto> ", history: history, whenEntered: { entered.add() }
    ) { words in
      let completion = CompletionRequest(
        commands: descriptions, handles: session.knownHandles.withLock { $0 })
      guard case .words(let found) = completion.answer(to: words) else { return nil }
      return found.map(\.text)
    }
    if let lines { return lines }
    Terminal.note(
      "lines cannot be edited: neither libedit nor readline is installed",
      "fix: sudo apt install libedit2")
    let (plain, continuation) = AsyncStream<String>.makeStream()
    Task(executorPreference: loop.tasks) {
      let input = StandardInput(on: loop)
      while let line = try? await input.next() {
        switch line {
        case .success(let line):
          entered.add()
          continuation.yield(line)
        case .failure(let error): Terminal.note(ExitStatus(error).message)
        }
      }
      continuation.finish()
    }
    return plain
  }

  /// The file of the history: in the user's folder for state, which is created.
  private static var history: String? {
    func variable(_ name: String) -> String? {
      getenv(name).map { String(cString: $0) }.flatMap { $0.hasPrefix("/") ? $0 : nil }
    }
    guard let state = variable("XDG_STATE_HOME") ?? variable("HOME").map({ $0 + "/.local/state" })
    else { return nil }
    var folder = ""
    for part in "\(state)/atto".split(separator: "/") {
      folder += "/\(part)"
      mkdir(folder, 0o700)
    }
    return folder + "/history"
  }
}

/// The lines that were entered and have not ended, for Ctrl-C: it may come before the line has begun.
private final class EnteredLines: Sendable {
  private struct State {
    var count = 0
    var task: Task<Void, any Error>?
    /// Whether the next line ends as soon as it begins.
    var isInterrupted = false
  }

  private let state = Mutex(State())

  func add() { state.withLock { $0.count += 1 } }

  func begin(_ task: Task<Void, any Error>) {
    state.withLock { state in
      state.task = task
      if state.isInterrupted { task.cancel() }
      state.isInterrupted = false
    }
  }

  func end() {
    state.withLock { state in
      state.count -= 1
      state.task = nil
    }
  }

  /// Ends the line in progress, or the next one. Returns false if there is none.
  func interrupt() -> Bool {
    state.withLock { state in
      if let task = state.task { task.cancel() } else { state.isInterrupted = state.count > 0 }
      return state.count > 0
    }
  }
}
