import Atto
import Files
import Glibc

/// `serve --control`: lines on standard input that drive the server.
struct Control: Sendable {
  let server: LocalServer

  static let help =
    "set HANDLE HEX, notify HANDLE HEX, indicate HANDLE HEX, disconnect, add PROFILE.json, "
    + "remove HANDLE"

  /// Carries out each line until there are no more. A line that is wrong is told on standard
  /// error, and the next one is read.
  func run(_ lines: StandardInput) async throws {
    while let line = try await lines.next() {
      let words = line.split(separator: " ").map(String.init)
      guard let verb = words.first else { continue }
      do {
        try await carryOut(verb, Array(words.dropFirst()))
      } catch let error as AttoError where error == .cancelled {
        throw error
      } catch {
        Terminal.note("control: \(ExitStatus(error).message)")
      }
    }
  }

  private func carryOut(_ verb: String, _ words: [String]) async throws {
    switch verb {
    case "set":
      let (handle, value) = try value(words)
      try await server.setValue(of: handle, to: value)
    case "notify":
      let (handle, value) = try value(words)
      let delivered = try await server.notify(handle, value)
      Terminal.note("notified \(Shown.count(delivered.count, "client"))")
    case "indicate":
      let (handle, value) = try value(words)
      let delivered = try await server.indicate(handle, value)
      Terminal.note("\(Shown.count(delivered.count, "client")) confirmed")
    case "disconnect": server.disconnect()
    case "add":
      guard words.count == 1 else { throw UsageError("add wants the name of a profile") }
      let profile = try Profile(contentsOfFile: words[0])
      for service in try profile.definitions(from: try await server.freeHandle ?? .max) {
        let layout = try await server.add(service)
        Terminal.note("added \(layout.range)")
      }
    case "remove":
      guard words.count == 1 else { throw UsageError("remove wants the handle of a service") }
      try await server.remove(service: try AttributeHandle(argument: words[0]))
    default: throw UsageError("\"\(verb)\" is none of: \(Self.help)")
    }
  }

  private func value(_ words: [String]) throws -> (AttributeHandle, [UInt8]) {
    guard let first = words.first else { throw UsageError("a handle and a value are wanted") }
    return (
      try AttributeHandle(argument: first),
      try octets(argument: words.dropFirst().joined())
    )
  }
}

/// Lines of standard input, as they come, without a thread for them.
final class StandardInput: Sendable {
  private let stream: AsyncStream<String>
  private let loop: Loop

  init(on loop: Loop) {
    self.loop = loop
    let (stream, continuation) = AsyncStream<String>.makeStream()
    self.stream = stream
    loop.inline {
      let reader = LineReader(continuation, loop)
      reader.start()
    }
  }

  /// The next line; nil at the end of the input.
  func next() async throws -> String? {
    for await line in stream { return line }
    try Task.checkCancellation()
    return nil
  }
}

/// Cuts what arrives on standard input into lines. The loop's thread only.
private final class LineReader: ReadinessHandler {
  private let continuation: AsyncStream<String>.Continuation
  private let loop: Loop
  private var watch: WatchID?
  private var line: [UInt8] = []

  /// A line longer than this is cut in two: standard input is not to fill the memory.
  static let limit = 65536

  init(_ continuation: AsyncStream<String>.Continuation, _ loop: Loop) {
    self.continuation = continuation
    self.loop = loop
  }

  func start() {
    do throws(LoopError) {
      watch = try loop.watch(STDIN_FILENO, trigger: .level, self)
    } catch {
      continuation.finish()
    }
  }

  func ready(_ readiness: Readiness) {
    var buffer = [UInt8](repeating: 0, count: 4096)
    let count = read(STDIN_FILENO, &buffer, buffer.count)
    guard count != 0 else { return end() }
    guard count > 0 else {
      if errno != EAGAIN, errno != EINTR { end() }
      return
    }
    for octet in buffer[..<count] {
      if octet != UInt8(ascii: "\n") { line.append(octet) }
      if octet == UInt8(ascii: "\n") || line.count >= Self.limit { give() }
    }
  }

  private func give() {
    continuation.yield(String(decoding: line, as: UTF8.self))
    line.removeAll(keepingCapacity: true)
  }

  private func end() {
    if let watch { loop.unwatch(watch) }
    watch = nil
    if !line.isEmpty { give() }
    continuation.finish()
  }
}
