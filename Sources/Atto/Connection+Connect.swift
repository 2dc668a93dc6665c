import ATT
import EventLoop
import GATT
import Links
import Radio

extension Connection {
  /// Connects to an endpoint.
  ///
  /// - Parameters:
  ///   - server: serves the peer on the same link; its loop is the connection's then.
  ///   - adapter: the radio to use: for `air:` endpoints one of its own if nil. For `le:`
  ///     endpoints the kernel connects by itself, and a ``KernelAdapter`` is the one whose agent
  ///     answers when the link pairs, and who tells why that failed. It is kept for as long as
  ///     the connection.
  /// - Throws: `link` or `radio` if the link does not come to stand, `connectTimeout`, `pairing`,
  ///   `endpoint` if it names no peer, and what exchanging the MTU throws if that was wished.
  public static func connect(
    to endpoint: Endpoint, options: ConnectionOptions = ConnectionOptions(),
    server: LocalServer? = nil, adapter: (any Adapter)? = nil, loop: Loop = .shared
  ) async throws(AttoError) -> Connection {
    let loop = server?.loop ?? loop
    let pairing = await PairingSource(adapter, endpoint)
    let connection: Connection
    do throws(AttoError) {
      connection = try await endpoint.open(options, adapter, loop) { link in
        make(link, options, server, loop, pairing?.of(link))
      }
    } catch {
      throw options.security > .low ? await pairing?.explained(error) ?? error : error
    }
    if options.security > .low {
      try await connection.raiseSecurity(to: options.security, within: options.connectTimeout)
    }
    if options.exchangesMTU { try await connection.exchangeMTU() }
    return connection
  }

  /// Takes over a link that stands. The link must belong to the loop's thread.
  ///
  /// - Throws: `link` with what `makeLink` throws or if its buffer cannot be set, `loop` if it
  ///   cannot be watched, `tooManyClients` if the server has no room; the link is closed then.
  ///   `cancelled`.
  public static func adopt(
    _ makeLink: @escaping @Sendable () throws(LinkError) -> any Link,
    options: ConnectionOptions = ConnectionOptions(), server: LocalServer? = nil,
    loop: Loop = .shared
  ) async throws(AttoError) -> Connection {
    let loop = server?.loop ?? loop
    return try await loop.complete { completion in
      do throws(LinkError) {
        completion.resume(make(try makeLink(), options, server, loop))
      } catch {
        completion.resume(.failure(.link(error)))
      }
    }
  }

  /// Takes over a link that stands and serves its peer, without waiting: whoever observes the
  /// server is told of the client within the call, and of what it asks later.
  ///
  /// Traps off the loop's thread. Throws as ``adopt(_:options:server:loop:)`` does.
  public static func adoptNow(
    _ link: any Link, options: ConnectionOptions = ConnectionOptions(), server: LocalServer
  ) throws(AttoError) -> Connection {
    try make(link, options, server, server.loop).get()
  }

  static func make(
    _ link: any Link, _ options: ConnectionOptions, _ server: LocalServer?, _ loop: Loop,
    _ pairing: PairingSource? = nil
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
