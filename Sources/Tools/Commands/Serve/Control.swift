import Atto
import AttoCommandLine
import AttoFormats
import AttoProfileServer

/// `serve --control`: commands on standard input.
struct Control: Sendable {
  private let served: ProfileServer
  private var server: LocalServer { served.server }

  private let loop: Loop

  init(_ served: ProfileServer, on loop: Loop) {
    self.served = served
    self.loop = loop
  }

  private static let commands =
    "set HANDLE HEX, notify HANDLE HEX [to CLIENT], indicate HANDLE HEX [to CLIENT],"
    + " disconnect [CLIENT], add PROFILE.json or remove HANDLE"

  /// Indications that may be unconfirmed while further lines run.
  static let indicationLimit = 64

  /// Runs each line up to the end. An error in a line is reported, and the next line is read.
  func run(_ lines: StandardInput) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      var indications = 0
      while let line = try await lines.next() {
        do {
          let line = try line.get()
          let words = line.split { $0.isWhitespace }.map(String.init)
          guard let verb = words.first else { continue }
          if verb == "indicate" {
            let message = try await message(Array(words.dropFirst()))
            if indications == Self.indicationLimit {
              try await group.next()
              indications -= 1
            }
            indications += 1
            // The next line's value is sent after this one, which may be confirmed later.
            let sent = try await begin(message)
            group.addTask {
              Terminal.note(indicated(try await sent.confirmations(), message))
            }
          } else {
            try await carryOut(line) { text, _ in Terminal.note(text) }
          }
        } catch AttoError.cancelled {
          throw AttoError.cancelled
        } catch {
          Terminal.note("control", refused: ExitStatus(error))
        }
      }
      try await group.waitForAll()
    }
  }

  /// Carries out one line to its end.
  func carryOut(_ line: String, report: (String, JSONObject) -> Void) async throws {
    let all = line.split { $0.isWhitespace }.map(String.init)
    guard let verb = all.first else { return }
    let words = Array(all.dropFirst())
    switch verb {
    case "set":
      let (handle, value) = try value(words)
      try await server.setValue(of: handle, to: value)
    case "notify":
      let message = try await message(words)
      let delivered = try await server.notify(
        message.value, of: message.handle, to: message.client)
      let kept = delivered.kept > 0 ? ", kept for \(delivered.kept) without room" : ""
      report(
        "notified \(counted(delivered, message))\(kept)",
        ["clients": delivered.count, "kept": delivered.kept > 0 ? delivered.kept : nil])
    case "indicate":
      let message = try await message(words)
      let delivered = try await begin(message).confirmations()
      report(
        indicated(delivered, message),
        ["clients": delivered.count, "failures": delivered.failures])
    case "disconnect":
      guard words.count <= 1 else { throw UsageError("disconnect takes the number of one client") }
      if let word = words.first {
        server.disconnect(try await client(word))
      } else {
        server.disconnect()
      }
    case "add":
      let path = line.drop { $0.isWhitespace }.dropFirst(verb.count)
      try await add(Self.trimmed(path), report)
    case "remove":
      guard words.count == 1 else { throw UsageError("remove requires the handle of a service") }
      let range = try await server.remove(service: try AttributeHandle(argument: words[0]))
      report("removed \(range)", ["removed": "\(range)"])
    default:
      let shown = String(verb.prefix(40)).debugDescription
      throw UsageError("unknown command \(shown): expected \(Self.commands)")
    }
  }

  private func begin(_ message: Message) async throws(AttoError) -> SentIndication {
    try await server.beginIndicating(message.value, of: message.handle, to: message.client)
  }

  private func indicated(_ delivered: Delivered, _ message: Message) -> String {
    var text = "indicated \(counted(delivered, message))"
    if delivered.count > 0 || delivered.failures > 0 {
      text = "\(Shown.count(delivered.count, "client")) confirmed"
    }
    if delivered.failures > 0 { text += ", \(delivered.failures) did not" }
    return text
  }

  /// A value to notify or indicate.
  private struct Message: Sendable {
    let handle: AttributeHandle
    let value: [UInt8]
    /// The only client that gets it; nil: all that have subscribed.
    let client: ClientID?
  }

  /// Reads `HANDLE HEX [to CLIENT]`. Throws if no client can subscribe to the attribute, or the
  /// client is not connected.
  private func message(_ words: [String]) async throws -> Message {
    let end = words.firstIndex(of: "to") ?? words.endIndex
    let (handle, value) = try value(Array(words[..<end]))
    guard try await server.type(of: handle) != nil else {
      throw UsageError("no attribute at \(handle)")
    }
    guard try await server.configuration(ofValue: handle) != nil else {
      throw UsageError(
        "clients cannot subscribe to \(handle): it has no Client Characteristic Configuration")
    }
    guard end < words.endIndex else { return Message(handle: handle, value: value, client: nil) }
    guard words.count == end + 2 else {
      throw UsageError("invalid client: expected \"to\" and its number at the end of the line")
    }
    return Message(handle: handle, value: value, client: try await client(words[end + 1]))
  }

  /// Reads the number of a client that is connected.
  private func client(_ word: String) async throws -> ClientID {
    guard let number = UInt32(word) else {
      let shown = String(word.prefix(40)).debugDescription
      throw UsageError("invalid client: expected its number, found \(shown)")
    }
    let client = ClientID(rawValue: number)
    guard try await server.clients.contains(client) else {
      throw UsageError("client \(number) is not connected")
    }
    return client
  }

  private func counted(_ delivered: Delivered, _ message: Message) -> String {
    let count = Shown.count(delivered.count, "client")
    guard delivered.count == 0 else { return count }
    let absent = message.client.map { "client \($0.rawValue) has not" } ?? "none has"
    return "\(count): \(absent) subscribed to \(message.handle)"
  }

  private func add(_ path: String, _ report: (String, JSONObject) -> Void) async throws {
    guard !path.isEmpty else { throw UsageError("add requires the name of a profile") }
    let profile = try await Profile.read(path, on: loop)
    try await served.add(profile) { report("added \($0)", ["added": "\($0)"]) }
  }

  private static func trimmed(_ text: Substring) -> String {
    var text = text.drop { $0.isWhitespace }
    while text.last?.isWhitespace ?? false { text.removeLast() }
    return String(text)
  }

  private func value(_ words: [String]) throws -> (AttributeHandle, [UInt8]) {
    guard let first = words.first else { throw UsageError("missing handle and value") }
    let handle = try AttributeHandle(argument: first)
    guard words.count > 1 else { throw UsageError("missing value: the empty value is \"\"") }
    let text = words.dropFirst().joined(separator: " ")
    let value = try text == "\"\"" ? [] : octets(argument: text)
    guard value.count <= 512 else {
      throw UsageError("value too long: \(value.count) octets (the limit is 512)")
    }
    return (handle, value)
  }
}
