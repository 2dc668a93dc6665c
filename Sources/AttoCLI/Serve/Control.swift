import Atto
import Files

/// `serve --control`: lines on standard input that drive the server.
struct Control: Sendable {
  let server: LocalServer
  let report: ServeReport

  static let help =
    "set HANDLE HEX, notify HANDLE HEX,\nindicate HANDLE HEX, disconnect, add PROFILE.json, "
    + "remove HANDLE"

  /// Indications whose confirmations are waited for while further lines are carried out.
  static let indicationLimit = 64

  /// Carries out each line until there are no more. A line that is wrong is told on standard
  /// error, and the next one is read.
  func run(_ lines: StandardInput) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      var indications = 0
      while let line = try await lines.next() {
        do {
          let line = try line.get()
          let words = line.split { $0.isWhitespace }.map(String.init)
          guard let verb = words.first else { continue }
          if verb == "indicate" {
            let (handle, value) = try value(Array(words.dropFirst()))
            try await check(handle)
            if indications == Self.indicationLimit {
              try await group.next()
              indications -= 1
            }
            indications += 1
            group.addTask { try await indicate(handle, value) }
            // The indication's two tasks get their turn and send it; what the next line sends
            // comes after it.
            for _ in 0..<3 { await Task.yield() }
          } else {
            try await carryOut(verb, Array(words.dropFirst()), line)
          }
        } catch AttoError.cancelled {
          throw AttoError.cancelled
        } catch {
          Terminal.note("control: \(ExitStatus(error).message)")
        }
      }
      try await group.waitForAll()
    }
  }

  private func carryOut(_ verb: String, _ words: [String], _ line: String) async throws {
    switch verb {
    case "set":
      let (handle, value) = try value(words)
      try await server.setValue(of: handle, to: value)
    case "notify":
      let (handle, value) = try value(words)
      try await check(handle)
      let delivered = try await server.notify(handle, value)
      Terminal.note("notified \(counted(delivered, handle))")
    case "disconnect":
      guard words.isEmpty else { throw UsageError("disconnect stands alone") }
      server.disconnect()
    case "add":
      let path = line.drop { $0.isWhitespace }.dropFirst(verb.count)
      try await add(Self.trimmed(path))
    case "remove":
      guard words.count == 1 else { throw UsageError("remove wants the handle of a service") }
      let range = try await server.remove(service: try AttributeHandle(argument: words[0]))
      Terminal.note("removed \(range)")
    default:
      let shown = String(verb.prefix(40)).debugDescription
      let help = Self.help.replacing("\n", with: " ")
      throw UsageError("\(shown) is none of: \(help)")
    }
  }

  private func indicate(_ handle: AttributeHandle, _ value: [UInt8]) async throws {
    let delivered = try await server.indicate(handle, value)
    var text = "indicated \(counted(delivered, handle))"
    if delivered.count > 0 || delivered.failures > 0 {
      text = "\(Shown.count(delivered.count, "client")) confirmed"
    }
    if delivered.failures > 0 { text += ", \(delivered.failures) did not" }
    Terminal.note(text)
  }

  /// Throws where nobody will ever get a value: not for want of subscribers, but of what to
  /// subscribe to.
  private func check(_ handle: AttributeHandle) async throws {
    guard try await server.type(of: handle) != nil else {
      throw UsageError("there is no attribute at \(handle)")
    }
    guard try await server.configuration(ofValue: handle) != nil else {
      throw UsageError(
        "nobody can subscribe to \(handle): it is no value with a Client Characteristic Configuration"
      )
    }
  }

  private func counted(_ delivered: Delivered, _ handle: AttributeHandle) -> String {
    let count = Shown.count(delivered.count, "client")
    return delivered.count > 0 ? count : "\(count): nobody has subscribed to \(handle)"
  }

  /// Adds the services of a profile, one after the other, and has their values behave.
  private func add(_ path: String) async throws {
    guard !path.isEmpty else { throw UsageError("add wants the name of a profile") }
    let profile = try Profile(contentsOfFile: path)
    let laidOut = try profile.database()
    let definitions = try profile.definitions(from: try await server.freeHandle ?? .max)
    var added: [HandleRange] = []
    for definition in definitions {
      let layout = try await server.add(definition)
      added.append(layout.range)
      Terminal.note("added \(layout.range)")
    }
    // All services move by the same distance.
    let own = laidOut.layout.attributes.first { attribute in
      guard case .service(let service) = attribute.content else { return false }
      return service.range != laidOut.layout.automaticServices.genericAccess
        && service.range != laidOut.layout.automaticServices.genericAttribute
    }
    guard let own, let first = added.first, !laidOut.behaviours.isEmpty else { return }
    let distance = Int(first.start.rawValue) - Int(own.handle.rawValue)
    let values = laidOut.behaviours.map { BehavedValue($0, movedBy: distance) }
    let player = ProfilePlayer(values, on: server, report)
    // Ends with the process: what was added behaves for as long as the server runs.
    Task(executorPreference: server.loop.tasks) { try await player.play() }
  }

  private static func trimmed(_ text: Substring) -> String {
    var text = text.drop { $0.isWhitespace }
    while text.last?.isWhitespace ?? false { text.removeLast() }
    return String(text)
  }

  private func value(_ words: [String]) throws -> (AttributeHandle, [UInt8]) {
    guard let first = words.first else { throw UsageError("a handle and a value are wanted") }
    let handle = try AttributeHandle(argument: first)
    let value = try octets(argument: words.dropFirst().joined())
    guard value.count <= 512 else {
      throw UsageError("a value has at most 512 octets, not \(value.count)")
    }
    return (handle, value)
  }
}
