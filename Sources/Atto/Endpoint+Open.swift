import ATT
import EventLoop
import Glibc
import Links
import Radio

extension Endpoint {
  /// Opens a link to the peer that the endpoint names, and has something made of it on the
  /// loop.
  func open<Value: Sendable>(
    _ options: ConnectionOptions, _ adapter: (any Adapter)?, _ loop: Loop,
    _ make: @escaping @Sendable (any Link) -> Result<Value, AttoError>
  ) async throws(AttoError) -> Value {
    switch self {
    case .unix(let path):
      let address = UnixAddress(path: path)
      return try await open(options, loop, make) {
        () throws(LinkError) in try SocketConnector(address)
      }
    case .le(let address):
      return try await open(options, loop, make) {
        () throws(LinkError) in
        try SocketConnector(address, options: L2CAPOptions(security: options.security))
      }
    case .descriptor(let number):
      return try await loop.complete { completion in
        do throws(LinkError) {
          completion.resume(make(try SocketLink.adopt(number)))
        } catch {
          completion.resume(.failure(.link(error)))
        }
      }
    case .air(""), .leAny:
      throw .endpoint(EndpointError(text: description, .noPeer))
    case .air(let name):
      let radio = adapter as? AirAdapter
      return try await open(air: name, options, radio, loop, make)
    }
  }

  private func open<Value: Sendable>(
    _ options: ConnectionOptions, _ loop: Loop,
    _ make: @escaping @Sendable (any Link) -> Result<Value, AttoError>,
    _ makeConnector: @escaping @Sendable () throws(LinkError) -> SocketConnector
  ) async throws(AttoError) -> Value {
    try await loop.complete { completion in
      let attempt = ConnectAttempt(
        makeConnector, self, options.connectTimeout, loop
      ) { result in
        switch result {
        case .success(let link): completion.resume(make(link))
        case .failure(let error): completion.resume(.failure(error))
        }
      }
      completion.whenCancelled = { attempt.finish(.failure(.cancelled)) }
      attempt.start()
    }
  }

  private func open<Value: Sendable>(
    air name: String, _ options: ConnectionOptions, _ adapter: AirAdapter?, _ loop: Loop,
    _ make: @escaping @Sendable (any Link) -> Result<Value, AttoError>
  ) async throws(AttoError) -> Value {
    let connected: ConnectedLink
    do throws(RadioError) {
      // Checked when the endpoint was read; one that was made otherwise may be wrong.
      guard let (name, timing) = try? Self.airParts(name) else {
        throw RadioError.invalidEndpoint(name)
      }
      let target = try AirEndpoint(name)
      let radio = if let adapter { adapter } else { try AirAdapter(loop: loop) }
      connected = try await radio.connect(
        to: target, timing: timing, timeout: options.connectTimeout)
    } catch {
      throw .radio(error)
    }
    return try await loop.complete { completion in completion.resume(make(connected.take())) }
  }
}

/// A connection to a socket that is being made. The loop's thread only.
///
/// A Unix socket whose listener has as many waiting as it may refuses at once, with EAGAIN; it
/// is tried again until the time is up, as a blocking connect would wait for room.
private final class ConnectAttempt: ReadinessHandler, TimerHandler {
  private let makeConnector: () throws(LinkError) -> SocketConnector
  private var connector: SocketConnector?
  private let endpoint: Endpoint
  private let timeout: Duration
  private let loop: Loop
  private var completion: ((Result<SocketLink, AttoError>) -> Void)?
  private var watch: WatchID?
  private var timer: TimerID?
  private var retry: OneTimer?

  /// Pause before a listener without room is asked again.
  static let pause: Duration = .milliseconds(5)

  init(
    _ makeConnector: @escaping () throws(LinkError) -> SocketConnector, _ endpoint: Endpoint,
    _ timeout: Duration, _ loop: Loop,
    _ completion: @escaping (Result<SocketLink, AttoError>) -> Void
  ) {
    self.makeConnector = makeConnector
    self.endpoint = endpoint
    self.timeout = timeout
    self.loop = loop
    self.completion = completion
  }

  func start() {
    timer = loop.schedule(at: (Instant(nanoseconds: loop.now) + timeout).nanoseconds, self)
    tryToStart()
  }

  private func tryToStart() {
    do throws(LinkError) {
      let connector = try makeConnector()
      self.connector = connector
      switch try connector.start() {
      case .connected: tryToFinish()
      case .inProgress:
        guard let descriptor = connector.descriptor else { return }
        do throws(LoopError) {
          watch = try loop.watch(descriptor, self)
        } catch {
          return finish(.failure(.loop(error)))
        }
      }
    } catch {
      guard error.errno == EAGAIN else { return finish(.failure(.link(error))) }
      connector = nil
      retry = OneTimer(after: Self.pause, on: loop) { [weak self] in self?.tryToStart() }
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
      guard let link = try connector?.finish() else { return }
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
    retry?.cancel()
    connector = nil
    completion(result)
  }
}
