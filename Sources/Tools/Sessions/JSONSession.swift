import Atto
import AttoCommandLine

/// `atto session --json`: requests on standard input, and what becomes of them on standard output, one
/// JSON object per line.
///
/// The first line names the version of this protocol. Each request has any number of results and ends
/// with one line with `done` or `error`:
///
///     {"session":1,"version":"0.9.0"}
///     > {"id":1,"command":"connect","arguments":["air:Strap"]}
///     {"id":1,"result":{"connection":"main","endpoint":"air:Strap","mtu":23,"security":"low"}}
///     {"id":1,"done":true}
///
/// A change of the protocol that old clients would misread has a new number.
package struct JSONSession {
  static let version = 1

  private let session: CommandSession

  /// - Parameter connecting: the arguments of the first connection; nil for none.
  package static func run(
    _ commands: SessionCommands, connecting: Arguments?, on loop: Loop
  ) async throws {
    let session = CommandSession(commands, on: loop, isJSON: true) { event in
      switch event {
      case .disconnected(let name, let error):
        let fields: JSONObject = ["event": "disconnected", "connection": name]
        Terminal.print(json: fields.adding(error.map { ExitStatus($0).json } ?? [:]))
      }
    }
    Terminal.print(json: ["session": version, "version": Version.number])
    let front = JSONSession(session: session)
    if let connecting {
      await front.follow(.text("connect")) { () throws(UsageError) in
        try await session.start(
          SessionCommands.Command(own: ConnectCommand.self), connecting, as: .text("connect"))
      }
    }
    let input = StandardInput(on: loop)
    do {
      while let line = try await input.next() {
        await front.read(line)
        await Terminal.room()
      }
    } catch {
      await session.end(cancelling: true)
      throw error
    }
    await session.end(cancelling: false)
  }

  private func read(_ line: StandardInput.Line) async {
    do {
      let line = try line.get()
      if line.allSatisfy(\.isWhitespace) { return }
      let request = try SessionRequest(json: line)
      await follow(request.id) { () throws(UsageError) in try await session.start(request) }
    } catch let mistake as SessionRequest.Mistake {
      Self.fail(mistake.id, mistake.error)
    } catch {
      Self.fail(nil, error)
    }
  }

  /// Starts a request, and prints how it ends.
  private func follow(
    _ id: RequestID, _ start: () async throws(UsageError) -> Task<Void, any Error>
  ) async {
    do {
      let task = try await start()
      Task(executorPreference: session.loop.tasks) {
        switch await task.result {
        case .success: Terminal.print(json: ["id": id, "done": true])
        case .failure(let error): Self.fail(id, error)
        }
      }
    } catch {
      Self.fail(id, error)
    }
  }

  private static func fail(_ id: RequestID?, _ error: any Error) {
    let id: JSONObject = ["id": id]
    Terminal.print(json: id.adding(ExitStatus(error).json))
  }
}
