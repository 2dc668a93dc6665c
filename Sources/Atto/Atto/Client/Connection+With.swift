import AttoEventLoop
import AttoRadio

extension Connection {
  /// Connects to an endpoint, runs `body`, and closes the connection: also when `body` throws, which
  /// it does when the caller's task is cancelled while it waits.
  ///
  ///     let location = try await Connection.withConnection(to: endpoint) { connection in
  ///       try await connection.read(uuid: .bodySensorLocation).values[0].octets
  ///     }
  ///
  /// The parameters are those of ``connect(to:options:server:adapter:loop:)``.
  ///
  /// - Returns: what `body` returns.
  /// - Throws: the error of `body`, or of ``connect(to:options:server:adapter:loop:)``.
  @_disfavoredOverload
  public static func withConnection<Value>(
    to endpoint: Endpoint, options: ConnectionOptions = ConnectionOptions(),
    server: LocalServer? = nil, adapter: Adapter? = nil, loop: Loop? = nil,
    _ body: (Connection) async throws -> Value
  ) async throws -> Value {
    let connection = try await connect(
      to: endpoint, options: options, server: server, adapter: adapter, loop: loop)
    defer { connection.close() }
    return try await body(connection)
  }

  /// The same for a body that throws `AttoError` only: `{ connection throws(AttoError) in ... }`.
  ///
  /// - Returns: what `body` returns.
  /// - Throws: the error of `body`, or of ``connect(to:options:server:adapter:loop:)``.
  public static func withConnection<Value>(
    to endpoint: Endpoint, options: ConnectionOptions = ConnectionOptions(),
    server: LocalServer? = nil, adapter: Adapter? = nil, loop: Loop? = nil,
    _ body: (Connection) async throws(AttoError) -> Value
  ) async throws(AttoError) -> Value {
    let connection = try await connect(
      to: endpoint, options: options, server: server, adapter: adapter, loop: loop)
    defer { connection.close() }
    return try await body(connection)
  }
}
