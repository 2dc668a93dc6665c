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
  ///   - adapter: the radio to use for `air:` endpoints; one of its own if nil.
  /// - Throws: `link` or `radio` if the link does not come to stand, `connectTimeout`,
  ///   `endpoint` if it names no peer, and what exchanging the MTU throws if that was wished.
  public static func connect(
    to endpoint: Endpoint, options: ConnectionOptions = ConnectionOptions(),
    server: LocalServer? = nil, adapter: AirAdapter? = nil, loop: Loop = .shared
  ) async throws(AttoError) -> Connection {
    let loop = server?.loop ?? loop
    let connection: Connection
    switch endpoint {
    case .unix(let path):
      let address = UnixAddress(path: path)
      connection = try await connect(endpoint, options, server, loop) {
        () throws(LinkError) in try SocketConnector(address)
      }
    case .le(let address):
      let options = options
      connection = try await connect(endpoint, options, server, loop) {
        () throws(LinkError) in
        try SocketConnector(address, options: L2CAPOptions(security: options.security))
      }
    case .descriptor(let number):
      connection = try await loop.complete { completion in
        do throws(LinkError) {
          let link = try SocketLink.adopt(number)
          completion.resume(Self.make(link, options, server, loop))
        } catch {
          completion.resume(.failure(.link(error)))
        }
      }
    case .air(""), .leAny:
      throw .endpoint(EndpointError(text: endpoint.description, .noPeer))
    case .air(let name):
      connection = try await connect(air: name, options, server, adapter, loop)
    }
    if options.exchangesMTU { try await connection.exchangeMTU() }
    return connection
  }

  /// Takes over a link that stands. The link must belong to the loop's thread.
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

  static func make(
    _ link: any Link, _ options: ConnectionOptions, _ server: LocalServer?, _ loop: Loop
  ) -> Result<Connection, AttoError> {
    do throws(AttoError) {
      if options.security > link.security.level {
        do { try link.raiseSecurity(to: options.security) } catch { throw .link(error) }
      }
      if let server { return .success(Connection(try server.attach(link, options))) }
      let core = ConnectionCore(link, on: loop, options: options, server: nil, client: nil)
      try core.open()
      return .success(Connection(core))
    } catch {
      link.close()
      return .failure(error)
    }
  }

  private static func connect(
    _ endpoint: Endpoint, _ options: ConnectionOptions, _ server: LocalServer?, _ loop: Loop,
    _ makeConnector: @escaping @Sendable () throws(LinkError) -> SocketConnector
  ) async throws(AttoError) -> Connection {
    try await loop.complete { completion in
      do throws(LinkError) {
        let attempt = ConnectAttempt(
          try makeConnector(), endpoint, options.connectTimeout, loop
        ) { result in
          switch result {
          case .success(let link): completion.resume(make(link, options, server, loop))
          case .failure(let error): completion.resume(.failure(error))
          }
        }
        completion.whenCancelled = { attempt.finish(.failure(.cancelled)) }
        attempt.start()
      } catch {
        completion.resume(.failure(.link(error)))
      }
    }
  }

  private static func connect(
    air name: String, _ options: ConnectionOptions, _ server: LocalServer?,
    _ adapter: AirAdapter?, _ loop: Loop
  ) async throws(AttoError) -> Connection {
    let connected: ConnectedLink
    do throws(RadioError) {
      let target = try AirEndpoint(name)
      let radio = if let adapter { adapter } else { try AirAdapter(loop: loop) }
      connected = try await radio.connect(to: target, timeout: options.connectTimeout)
    } catch {
      throw .radio(error)
    }
    return try await loop.complete { completion in
      completion.resume(make(connected.take(), options, server, loop))
    }
  }
}

/// A connection to a socket that is being made. The loop's thread only.
private final class ConnectAttempt: ReadinessHandler, TimerHandler {
  private let connector: SocketConnector
  private let endpoint: Endpoint
  private let timeout: Duration
  private let loop: Loop
  private var completion: ((Result<SocketLink, AttoError>) -> Void)?
  private var watch: WatchID?
  private var timer: TimerID?

  init(
    _ connector: SocketConnector, _ endpoint: Endpoint, _ timeout: Duration, _ loop: Loop,
    _ completion: @escaping (Result<SocketLink, AttoError>) -> Void
  ) {
    self.connector = connector
    self.endpoint = endpoint
    self.timeout = timeout
    self.loop = loop
    self.completion = completion
  }

  func start() {
    do throws(LinkError) {
      switch try connector.start() {
      case .connected: tryToFinish()
      case .inProgress:
        guard let descriptor = connector.descriptor else { return }
        do throws(LoopError) {
          watch = try loop.watch(descriptor, self)
        } catch {
          return finish(.failure(.loop(error)))
        }
        timer = loop.schedule(
          at: (Instant(nanoseconds: loop.now) + timeout).nanoseconds, self)
      }
    } catch {
      finish(.failure(.link(error)))
    }
  }

  func ready(_ readiness: Readiness) { tryToFinish() }

  func timerFired(_ id: TimerID) {
    timer = nil
    finish(.failure(.connectTimeout(endpoint: endpoint.description, after: timeout)))
  }

  private func tryToFinish() {
    do throws(LinkError) {
      // The watch must go before the link, whose own watch takes the same descriptor.
      guard let link = try connector.finish() else { return }
      finish(.success(link))
    } catch {
      finish(.failure(.link(error)))
    }
  }

  func finish(_ result: Result<SocketLink, AttoError>) {
    guard let completion else { return }
    self.completion = nil
    if let watch { loop.unwatch(watch) }
    if let timer { loop.cancel(timer) }
    completion(result)
  }
}
