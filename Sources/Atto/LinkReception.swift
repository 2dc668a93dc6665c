import EventLoop
import Links
import Radio

/// How links are taken of those who come to a place, and what is done with them.
struct LinkReception: Sendable {
  let loop: Loop
  /// Called on the loop when somebody who came could not be taken.
  let onFailure: @Sendable (AttoError) -> Void
  /// Called on the loop when nobody can come any more; not after the listener was stopped.
  let onEnd: @Sendable (AttoError) -> Void
  /// Called on the loop with each link, which it owns from then on.
  let take: @Sendable (any Link) throws(AttoError) -> Void

  /// Waits at an endpoint; what ``LocalServer/listen(on:options:advertising:agent:onFailure:onEnd:)``
  /// says of it.
  ///
  /// - Throws: `link` or `radio` if there is no listening there, `endpoint` if it is no such
  ///   place; for `fd:` what `take` throws.
  func listen(
    on endpoint: Endpoint, advertising: AdvertisingParameters, agent: (any PairingAgent)?
  ) async throws(AttoError) -> ServerListener {
    switch endpoint {
    case .unix(let path):
      let address = UnixAddress(path: path)
      return try await listen(endpoint) {
        () throws(LinkError) in try UnixListener(address)
      }
    case .leAny(let source):
      return try await listen(kernel: source, advertising, agent) {
        () throws(AttoError) in
        try await listen(endpoint) {
          () throws(LinkError) in try L2CAPListener(source: source)
        }
      }
    case .descriptor(let number):
      let take = take
      try await loop.complete { (completion: Completion<Void>) in
        do throws(AttoError) {
          let link: SocketLink
          do throws(LinkError) {
            link = try SocketLink.adopt(number)
          } catch {
            throw .link(error)
          }
          try take(link)
          completion.resume(.success(()))
        } catch {
          completion.resume(.failure(error))
        }
      }
      return ServerListener(endpoint: endpoint.description, stopper: {})
    case .air(let name):
      guard endpoint.timing == nil else {
        throw .endpoint(EndpointError(text: endpoint.description, .timingOfListener))
      }
      return try await listen(air: name, advertising, agent)
    case .le:
      throw .endpoint(EndpointError(text: endpoint.description, .notForListening))
    }
  }

  private func listen(
    _ endpoint: Endpoint,
    _ makeListener: @escaping @Sendable () throws(LinkError) -> any LinkListener
  ) async throws(AttoError) -> ServerListener {
    let (loop, take, onFailure) = (loop, take, onFailure)
    let acceptor: LoopBound<LinkAcceptor> = try await loop.complete { completion in
      do throws(LinkError) {
        let listener = try makeListener()
        do throws(LoopError) {
          let acceptor = try LinkAcceptor(
            listener, on: loop,
            { link in
              do throws(AttoError) {
                try take(link)
              } catch {
                onFailure(error)
              }
            }, failure: { onFailure(.link($0)) })
          completion.resume(.success(LoopBound(acceptor, loop)))
        } catch {
          completion.resume(.failure(.loop(error)))
        }
      } catch {
        completion.resume(.failure(.link(error)))
      }
    }
    return ServerListener(endpoint: endpoint.description) {
      loop.inline { acceptor.value.stop() }
    }
  }

  private func listen(
    air name: String, _ parameters: AdvertisingParameters, _ agent: (any PairingAgent)?
  ) async throws(AttoError) -> ServerListener {
    let radio: AirAdapter
    do throws(RadioError) {
      switch try AirEndpoint(name) {
      case .own: radio = try AirAdapter(loop: loop)
      case .name(let name): radio = try AirAdapter(name: name, loop: loop)
      case .address(let address): radio = try AirAdapter(address: address, loop: loop)
      }
      if let agent { try await radio.setAgent(agent) }
    } catch {
      throw .radio(error)
    }
    let listener = try await advertise(on: radio, parameters)
    return ServerListener(endpoint: "air:\(name.isEmpty ? "\(radio.address)" : name)") {
      listener.stop()
    }
  }
}
