import Atto
import AttoCommandLine

// `repeat` and `source`: lines of a session that carry out others.

extension TextSession {
  /// How deep such lines may lie in each other.
  static let depthLimit = 16

  /// Carries out a line inside of another one.
  private func nested(_ body: () async throws -> Void) async throws {
    guard depth < Self.depthLimit else {
      throw UsageError(
        "repeat and source lie \(Self.depthLimit) deep in each other, which is the limit")
    }
    depth += 1
    defer { depth -= 1 }
    try await body()
  }

  /// `repeat [N] [--every SECONDS] COMMAND`.
  func repeatLine(_ words: [String]) async throws {
    var rest = words[...]
    var times = Int.max
    if let text = rest.first, let number = Int(text) {
      guard number > 0 else { throw UsageError("invalid number \"\(text)\": expected 1 or more") }
      times = number
      rest = rest.dropFirst()
    }
    var interval: Duration = .zero
    if rest.first == "--every" {
      rest = rest.dropFirst()
      guard let text = rest.popFirst() else { throw UsageError("--every requires a value") }
      interval = try Self.seconds(text)
    }
    let command = Array(rest)
    guard !command.isEmpty else { throw UsageError("missing argument COMMAND") }
    try await nested {
      var next = session.loop.refreshNow()
      for turn in 1... {
        try await run(words: command)
        if isOver || turn == times { return }
        await Terminal.room()
        // A command may end at once: the loop has other work too.
        await session.loop.yield()
        next = max(next + interval.inNanoseconds, session.loop.refreshNow())
        try await session.wait(for: .nanoseconds(next - session.loop.refreshNow()))
      }
    }
  }

  /// `source FILE`.
  func source(_ path: String) async throws {
    try await nested {
      for (index, line) in try await Script.lines(of: path, session.commands, on: session.loop)
        .enumerated()
      {
        do {
          try Task.checkCancellation()
          try await run(line)
        } catch {
          throw ScriptFailure(place: "\(path):\(index + 1)", error: error)
        }
        if isOver { return }
        await Terminal.room()
        await session.loop.yield()
      }
    }
  }
}
