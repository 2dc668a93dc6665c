import AttoATT
import AttoEventLoop
import AttoGATT
import AttoLinks
import AttoRadio

extension Connection {
  /// Connects to an endpoint.
  ///
  /// - Parameters:
  ///   - server: serves the peer on the same link. The connection then uses the server's loop.
  ///   - adapter: the radio. For `air:` endpoints, nil creates one for this connection. For `le:`
  ///     endpoints the kernel connects by itself; the agent of this adapter answers when the link
  ///     pairs, and the adapter reports why pairing failed. It is held as long as the connection.
  ///   - loop: the connection's loop if there is no server; nil: the adapter's, or `Loop.shared`
  ///     without one. For `air:` endpoints, an adapter must be on the connection's loop.
  /// - Throws: `link` or `radio` if the link cannot be opened, `connectTimeout`, `pairing`,
  ///   `endpoint` if it names no peer, and what ``exchangeMTU()`` throws if the options ask for it.
  public static func connect(
    to endpoint: Endpoint, options: ConnectionOptions = ConnectionOptions(),
    server: LocalServer? = nil, adapter: Adapter? = nil, loop: Loop? = nil
  ) async throws(AttoError) -> Connection {
    let connection = try await open(
      endpoint, options: options, server: server, adapter: adapter, loop: loop)
    try await connection.prepare(options)
    return connection
  }

  /// Connects to an endpoint without what ``prepare(_:)`` does.
  package static func open(
    _ endpoint: Endpoint, options: ConnectionOptions, server: LocalServer? = nil,
    adapter: Adapter?, loop: Loop?
  ) async throws(AttoError) -> Connection {
    let loop = server?.loop ?? loop ?? adapter?.loop ?? .shared
    let pairing = await PairingSource(adapter, endpoint)
    do throws(AttoError) {
      return try await endpoint.open(options, adapter, loop) { link, peer in
        make(link, options, server, loop, pairing?.of(peer))
      }
    } catch {
      throw options.security > .low ? await pairing?.explained(error) ?? error : error
    }
  }

  /// Does what the options want done before the first request.
  package func prepare(_ options: ConnectionOptions) async throws(AttoError) {
    if options.security > .low {
      try await raiseSecurity(to: options.security, within: options.connectTimeout)
    }
    if options.exchangesMTU { try await exchangeMTU() }
    if options.enhancedBearers > 0 { try await openBearers() }
  }

  /// Takes over an open link. The link must belong to the loop's thread.
  ///
  /// - Throws: `link` with the error of `makeLink`, or if its buffer cannot be set; `loop` if it
  ///   cannot be watched; `tooManyClients` if the server has no room. The link is closed then.
  ///   `cancelled`.
  public static func adopt(
    _ makeLink: @escaping @Sendable () throws(LinkError) -> any Link,
    options: ConnectionOptions = ConnectionOptions(), server: LocalServer? = nil,
    loop: Loop = .shared
  ) async throws(AttoError) -> Connection {
    let loop = server?.loop ?? loop
    return try await loop.withWaiter { waiter in
      do throws(LinkError) {
        waiter.resume(make(try makeLink(), options, server, loop))
      } catch {
        waiter.resume(.failure(.link(error)))
      }
    }
  }

  /// Takes over an open link and serves its peer, without waiting. Observers of a server without a
  /// memory are told of the client within the call.
  ///
  /// Traps off the loop's thread. Throws as ``adopt(_:options:server:loop:)`` does.
  public static func adoptNow(
    _ link: any Link, options: ConnectionOptions = ConnectionOptions(), server: LocalServer
  ) throws(AttoError) -> Connection {
    try make(link, options, server, server.loop).get()
  }

  /// On the loop's thread.
  package static func make(
    _ link: any Link, _ options: ConnectionOptions, _ server: LocalServer?, _ loop: Loop
  ) -> Result<Connection, AttoError> {
    make(link, options, server, loop, nil)
  }

  static func make(
    _ link: any Link, _ options: ConnectionOptions, _ server: LocalServer?, _ loop: Loop,
    _ pairing: PairingSource?
  ) -> Result<Connection, AttoError> {
    do throws(AttoError) {
      if let server { return .success(Connection(try server.attach(link, options), pairing)) }
      let core = ConnectionCore(link, on: loop, options: options, server: nil, client: nil)
      try core.open()
      return .success(Connection(core, pairing))
    } catch {
      link.close()
      return .failure(error)
    }
  }
}
