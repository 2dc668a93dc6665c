import AttoATT
import AttoEventLoop
import AttoLinks
import AttoRadio
import AttoVirtualRadio

extension Endpoint {
  /// Opens a link to the peer that the endpoint names, and returns what `make` creates from it on
  /// the loop. For an `air:` endpoint `make` also gets the address of the peer.
  package func open<Value: Sendable>(
    _ options: ConnectionOptions, _ adapter: Adapter?, _ loop: Loop,
    _ make: @escaping @Sendable (any Link, BluetoothAddress?) -> Result<Value, AttoError>
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
      return try await loop.withWaiter { waiter in
        do throws(LinkError) {
          waiter.resume(make(try SocketLink.adopt(number), nil))
        } catch {
          waiter.resume(.failure(.link(error)))
        }
      }
    case .air("", _), .leAny:
      throw .endpoint(EndpointError(text: description, .noPeer))
    case .air: return try await openAir(options, adapter, loop, make)
    }
  }

  private func open<Value: Sendable>(
    _ options: ConnectionOptions, _ loop: Loop,
    _ make: @escaping @Sendable (any Link, BluetoothAddress?) -> Result<Value, AttoError>,
    _ makeConnector: @escaping @Sendable () throws(LinkError) -> SocketConnector<SocketLink>
  ) async throws(AttoError) -> Value {
    try await loop.withWaiter { waiter in
      let attempt = LinkAttempt(on: loop, timeout: options.connectTimeout, makeConnector) { end in
        switch end {
        case .connected(let link): waiter.resume(make(link, nil))
        case .failed(let error): waiter.resume(.failure(.link(error)))
        case .unwatched(let error): waiter.resume(.failure(.loop(error)))
        case .timedOut(let time):
          waiter.resume(.failure(.connectTimeout(endpoint: description, after: time)))
        case .givenUp: waiter.resume(.failure(.cancelled))
        }
      }
      waiter.whenCancelled = { attempt.giveUp() }
      attempt.start()
    }
  }

  private func openAir<Value: Sendable>(
    _ options: ConnectionOptions, _ adapter: Adapter?, _ loop: Loop,
    _ make: @escaping @Sendable (any Link, BluetoothAddress?) -> Result<Value, AttoError>
  ) async throws(AttoError) -> Value {
    let connected: ConnectedLink
    do throws(RadioError) {
      guard let peer = try airPeer() else { throw .invalidEndpoint("") }
      let radio = if let adapter { adapter } else { try Adapter.virtual(loop: loop) }
      connected = try await radio.connect(
        to: peer, timing: timing, timeout: options.connectTimeout)
    } catch {
      throw .radio(error)
    }
    return try await loop.withWaiter { waiter in
      waiter.resume(make(connected.unwrap(), connected.peer))
    }
  }
}
