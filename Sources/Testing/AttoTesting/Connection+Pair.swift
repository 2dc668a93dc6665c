import Atto
import AttoEventLoop
import AttoLinks

extension Connection {
  /// Connects a client to a server in memory: no socket, no radio. Both ends are on the server's
  /// loop.
  ///
  /// The link has no encryption at first, and reaches every security level at once when it is asked
  /// to. 64 PDUs wait in each direction before their sender waits.
  ///
  /// - Parameters:
  ///   - server: serves the client.
  ///   - options: the options of the client's end.
  ///   - serverOptions: the options of the server's end.
  /// - Throws: `tooManyClients` if the server has no room, what the options make
  ///   ``Connection/connect(to:options:server:adapter:loop:)`` throw, `cancelled`.
  public static func pair(
    server: LocalServer, options: ConnectionOptions = ConnectionOptions(),
    serverOptions: ConnectionOptions = ConnectionOptions()
  ) async throws(AttoError) -> Connection {
    let loop = server.loop
    let connection = try await loop.withWaiter { (waiter: Waiter<Connection, AttoError>) in
      let (link, peer) = MemoryLink.pair()
      do throws(AttoError) {
        try server.serve(peer, serverOptions)
        waiter.resume(make(link, options, nil, loop))
      } catch {
        waiter.resume(.failure(error))
      }
    }
    try await connection.prepare(options)
    return connection
  }
}
