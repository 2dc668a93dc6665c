import Atto
import AttoCommandLine
import Synchronization

/// A script of `atto session`: its lines are carried out up to the first that fails.
package enum Script {
  /// - Parameter path: the file; nil for standard input.
  /// - Throws: ``ScriptFailure``.
  package static func run(
    _ path: String?, _ commands: SessionCommands, connecting: Arguments?, on loop: Loop
  ) async throws {
    let session = CommandSession(commands, on: loop, isJSON: false, isScript: true) { event in
      guard case .disconnected(let name, let error?) = event else { return }
      Terminal.note("\(name): \(ExitStatus(error).message)")
    }
    let background = BackgroundFailure()
    let text = TextSession(session) { background.note($0, $1) }
    do {
      if let connecting { try await text.connect(connecting) }
      if let path {
        try await run(try await lines(of: path, commands, on: loop), of: path, in: text, background)
      } else {
        try await runInput(in: text, background, on: loop)
      }
      await session.end(cancelling: false)
    } catch {
      await session.end(cancelling: true)
      throw error
    }
    try background.check()
  }

  /// The lines of a script.
  ///
  /// - Throws: ``ScriptFailure`` where one cannot be a line of a session; what reading it fails with.
  static func lines(
    of path: String, _ commands: SessionCommands, on loop: Loop
  ) async throws -> [String] {
    let octets = try await InputFile(path: path, on: loop).rest()
    let lines = String(decoding: octets, as: UTF8.self)
      .split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    // A wrong name or quote is found before anything is sent.
    for (index, line) in lines.enumerated() {
      do throws(UsageError) {
        let words = try SessionLine(line) { _ in "" }.words
        guard let name = words.first, ScriptCommand(rawValue: name) == nil else { continue }
        _ = try commands.named(name)
      } catch {
        throw ScriptFailure(place: "\(path):\(index + 1)", error: error)
      }
    }
    return lines
  }

  private static func run(
    _ lines: [String], of path: String, in text: TextSession, _ background: BackgroundFailure
  ) async throws {
    for (index, line) in lines.enumerated() {
      try await run(line, at: "\(path):\(index + 1)", in: text, background)
      if await text.isOver { return }
    }
  }

  private static func runInput(
    in text: TextSession, _ background: BackgroundFailure, on loop: Loop
  ) async throws {
    let input = StandardInput(on: loop)
    var number = 0
    while let line = try await input.next() {
      number += 1
      try await run(try line.get(), at: "line \(number)", in: text, background)
      if await text.isOver { return }
    }
  }

  private static func run(
    _ line: String, at place: String, in text: TextSession, _ background: BackgroundFailure
  ) async throws {
    do {
      try background.check()
      try await text.run(line)
      await Terminal.room()
    } catch {
      throw ScriptFailure(place: place, error: error)
    }
  }
}

/// The first failure of a line in the background.
private final class BackgroundFailure: Sendable {
  private let failure = Mutex<(any Error)?>(nil)

  func note(_ error: any Error, _ command: String) {
    failure.withLock {
      $0 = $0 ?? ScriptFailure(place: "\(command) in the background", error: error)
    }
  }

  func check() throws {
    if let failure = failure.withLock({ $0 }) { throw failure }
  }
}
