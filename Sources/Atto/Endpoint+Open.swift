import ATT
import EventLoop
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
    case .air: return try await openAir(options, adapter as? AirAdapter, loop, make)
    }
  }

  private func open<Value: Sendable>(
    _ options: ConnectionOptions, _ loop: Loop,
    _ make: @escaping @Sendable (any Link) -> Result<Value, AttoError>,
    _ makeConnector: @escaping @Sendable () throws(LinkError) -> SocketConnector
  ) async throws(AttoError) -> Value {
    try await loop.complete { completion in
      let attempt = LinkAttempt(on: loop, timeout: options.connectTimeout, makeConnector) { end in
        switch end {
        case .connected(let link): completion.resume(make(link))
        case .failed(let error): completion.resume(.failure(.link(error)))
        case .unwatched(let error): completion.resume(.failure(.loop(error)))
        case .timedOut(let time):
          completion.resume(.failure(.connectTimeout(endpoint: description, after: time)))
        case .givenUp: completion.resume(.failure(.cancelled))
        }
      }
      completion.whenCancelled = { attempt.giveUp() }
      attempt.start()
    }
  }

  private func openAir<Value: Sendable>(
    _ options: ConnectionOptions, _ adapter: AirAdapter?, _ loop: Loop,
    _ make: @escaping @Sendable (any Link) -> Result<Value, AttoError>
  ) async throws(AttoError) -> Value {
    let connected: ConnectedLink
    do throws(RadioError) {
      let target = try airPeer() ?? .own
      let radio = if let adapter { adapter } else { try AirAdapter(loop: loop) }
      connected = try await radio.connect(
        to: target, timing: timing, timeout: options.connectTimeout)
    } catch {
      throw .radio(error)
    }
    return try await loop.complete { completion in completion.resume(make(connected.take())) }
  }
}
