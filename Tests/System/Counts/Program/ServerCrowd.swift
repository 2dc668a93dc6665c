import Atto
import AttoLinks

/// Many clients at one server.
enum ServerCrowd {
  /// Clients that connect, and then leave in another order. One must not cost more because there are many.
  static func comesAndGoes(_ count: Int) throws {
    let loop = try Loop(name: "crowd")
    let database = try Counted.database()
    try loop.runBlocking {
      let server = LocalServer(database, loop: loop, limits: ServerLimits(clients: count))
      var ends: [MemoryLink] = []
      var connections: [Connection] = []
      for _ in 0..<count {
        let (near, far) = MemoryLink.pair()
        ends.append(far)
        connections.append(try Connection.adoptNow(near, server: server))
      }
      let step = 7
      for first in 0..<step {
        for index in stride(from: first, to: count, by: step) { connections[index].close() }
      }
      for connection in connections { try await connection.waitUntilClosed() }
    }
  }
}
