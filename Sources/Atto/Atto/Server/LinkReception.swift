import AttoEventLoop
import AttoLinks
import AttoRadio
import AttoVirtualRadio

/// Accepts links at an endpoint, for servers and relays.
package struct LinkReception: Sendable {
  let loop: Loop
  /// Called on the loop when a link could not be accepted.
  let onFailure: @Sendable (AttoError) -> Void
  /// Called on the loop when no more links can come; not after the listener was stopped.
  let onEnd: @Sendable (AttoError) -> Void
  /// The longest PDU that is received on enhanced bearers; nil if none are accepted.
  let channelMTU: Int?
  /// Called on the loop with each link, which it owns from then on.
  let accept: @Sendable (any Link) throws(AttoError) -> Void

  package init(
    loop: Loop, onFailure: @escaping @Sendable (AttoError) -> Void,
    onEnd: @escaping @Sendable (AttoError) -> Void, channelMTU: Int? = nil,
    accept: @escaping @Sendable (any Link) throws(AttoError) -> Void
  ) {
    self.loop = loop
    self.onFailure = onFailure
    self.onEnd = onEnd
    self.channelMTU = channelMTU
    self.accept = accept
  }

  /// Listens at an endpoint, as described at
  /// ``LocalServer/listen(on:options:onFailure:onEnd:)``.
  ///
  /// - Throws: `link` or `radio` if it cannot listen there, `endpoint` if the endpoint is not one
  ///   to listen at; for `fd:` what `accept` throws.
  package func listen(
    on endpoint: Endpoint, _ options: ListenOptions
  ) async throws(AttoError) -> ServerListener {
    switch endpoint {
    case .unix(let path):
      let address = UnixAddress(path: path)
      return try await listen(endpoint) {
        () throws(LinkError) in try SocketListener(address, group: options.unixGroup)
      }
    case .leAny(let source):
      let listener = try await listen(kernel: source, options) {
        () throws(AttoError) in
        try await listen(endpoint) {
          () throws(LinkError) in try SocketListener(l2cap: source)
        }
      }
      return try await holdingBearers(listener, of: source)
    case .descriptor(let number):
      let accept = accept
      try await loop.withWaiter { (waiter: Waiter<Void, AttoError>) in
        do throws(AttoError) {
          let link: SocketLink
          do throws(LinkError) {
            link = try SocketLink.adopt(number)
          } catch {
            throw .link(error)
          }
          try accept(link)
          waiter.resume(.success(()))
        } catch {
          waiter.resume(.failure(error))
        }
      }
      return ServerListener(endpoint: endpoint.description, stopper: {})
    case .air(let name, let timing):
      guard timing == nil else {
        throw .endpoint(EndpointError(text: endpoint.description, .timingOfListener))
      }
      return try await listen(air: name, options)
    case .le:
      throw .endpoint(EndpointError(text: endpoint.description, .notForListening))
    }
  }

  private func listen(
    _ endpoint: Endpoint,
    _ makeListener: @escaping @Sendable () throws(LinkError) -> SocketListener<SocketLink>
  ) async throws(AttoError) -> ServerListener {
    let (loop, accept, onFailure) = (loop, accept, onFailure)
    let acceptor: LoopBound<LinkAcceptor> = try await loop.withWaiter {
      (waiter: Waiter<LoopBound<LinkAcceptor>, AttoError>) in
      do throws(LinkError) {
        let listener = try makeListener()
        do throws(LoopError) {
          let acceptor = try LinkAcceptor(
            listener, on: loop,
            { link in
              do throws(AttoError) {
                try accept(link)
              } catch {
                onFailure(error)
              }
            }, failure: { onFailure(.link($0)) })
          waiter.resume(.success(LoopBound(acceptor, loop)))
        } catch {
          waiter.resume(.failure(.loop(error)))
        }
      } catch {
        waiter.resume(.failure(.link(error)))
      }
    }
    return ServerListener(endpoint: endpoint.description) {
      loop.inline { acceptor.value.stop() }
    }
  }

  private func listen(
    air name: String, _ options: ListenOptions
  ) async throws(AttoError) -> ServerListener {
    let radio: Adapter
    do throws(RadioError) {
      radio = try Adapter.virtual(try PeerTarget(virtual: name), loop: loop)
    } catch {
      throw .radio(error)
    }
    let listener = try await advertise(on: radio, options)
    return ServerListener(endpoint: "air:\(name.isEmpty ? "\(radio.address)" : name)") {
      listener.stop()
    }
  }
}
