import Atto
import AttoLinks
import Glibc

/// A server until its peer closes: with the async floor's server, as `atto serve` has it.
func serve(_ descriptor: Int32, on loop: Loop) throws {
  let server = LocalServer(try Bench.database(), loop: loop)
  let stream = Streaming(server)
  server.onWriteInline(of: Bench.stream) { _, value in
    stream.begin(value)
    return .accepted
  }
  try loop.runBlocking {
    var options = ConnectionOptions()
    options.receiveMTU = 517
    let connection = try await Connection.adopt(
      { () throws(LinkError) in try SocketLink.adopt(descriptor) }, options: options,
      server: server, loop: loop)
    try await connection.waitUntilClosed()
  }
}

/// A server for so many clients on a Unix socket, until it is killed.
func listen(at path: String, clients: Int, on loop: Loop) throws {
  let server = LocalServer(
    try Bench.database(), loop: loop, limits: ServerLimits(clients: clients))
  try loop.runBlocking {
    let listener = try await server.listen(on: Endpoint("unix:\(path)"))
    // A year.
    try await loop.sleep(for: .seconds(365 * 86_400))
    withExtendedLifetime(listener) {}
  }
}

/// Sends as many values as a client wishes, as fast as the link takes them.
final class Streaming: Sendable {
  private let server: LocalServer
  init(_ server: LocalServer) { self.server = server }

  func begin(_ wish: RawSpan) {
    let count = Int(wish.unsafeLoadUnaligned(as: UInt32.self))
    let size = Int(wish.unsafeLoadUnaligned(fromByteOffset: 4, as: UInt32.self))
    let server = server
    Task(executorPreference: server.loop.tasks) {
      let value = [UInt8](repeating: 0x34, count: size)
      for _ in 0..<count { try await server.notify(value, of: Bench.stream) }
    }
  }
}
