import Atto
import AttoLinks

/// The server's end of all rows in which the peer is the client: as `atto serve` has it.
struct ServerEnd {
  let gate: Gate
  let loop: Loop

  init(_ gate: Gate, _ loop: Loop) {
    self.gate = gate
    self.loop = loop
  }

  /// Serves until the peer closes.
  func run(_ descriptor: Int32) throws {
    let server = LocalServer(try Counted.database(), loop: loop)
    let gate = gate
    server.onWriteInline(of: Counted.gate) { _, _ in
      gate.pass()
      return .accepted
    }
    server.onWriteInline(of: Counted.stream) { _, count in
      let count = Int(count.unsafeLoad(as: UInt8.self))
      Task(executorPreference: server.loop.tasks) {
        let value = [UInt8](repeating: 0x34, count: 20)
        for _ in 0..<count { try await server.notify(value, of: Counted.stream) }
      }
      return .accepted
    }
    try loop.runBlocking {
      let connection = try await Connection.adopt(
        { () throws(LinkError) in try SocketLink.adopt(descriptor) }, server: server,
        loop: server.loop)
      try await connection.waitUntilClosed()
    }
  }
}
