import ATT
import EventLoop
import GATT
import Links
import Radio

/// A place where a server waits for clients. Released, it stops; connections live on.
public final class ServerListener: Sendable {
  /// Where it listens, as people write it.
  public let endpoint: String
  /// What a person should know: for instance that it could not advertise, and why.
  public let notice: String?
  /// Whether a radio tells that the server is there; true where no radio is needed.
  public let isAdvertised: Bool
  private let stopper: @Sendable () -> Void

  init(
    endpoint: String, notice: String? = nil, isAdvertised: Bool = true,
    stopper: @escaping @Sendable () -> Void
  ) {
    self.endpoint = endpoint
    self.notice = notice
    self.isAdvertised = isAdvertised
    self.stopper = stopper
  }

  deinit { stopper() }

  /// Takes no more connections.
  public func stop() { stopper() }
}

extension LocalServer {
  /// Waits for clients at an endpoint. On the air it also advertises; on one of the kernel's
  /// adapters too if the process may (see ``ServerListener/notice``).
  ///
  /// - Parameters:
  ///   - advertising: what the radio says; used by `air:` and `le:` endpoints.
  ///   - agent: answers when centrals pair, on `le:` and `air:` endpoints; makes the kernel's
  ///     adapter bondable. nil: as it is set, see ``KernelAdapter/setAgent(_:)``; on the air
  ///     every level is agreed on then.
  ///   - onFailure: called on the loop when a client that came could not be served.
  ///   - onEnd: called on the loop when nobody can come any more, because the kernel's adapter was
  ///     unplugged; not after `stop()`.
  /// - Throws: `link` or `radio` if there is no listening there, `endpoint` if it is no such
  ///   place.
  public func listen(
    on endpoint: Endpoint, options: ConnectionOptions = ConnectionOptions(),
    advertising: AdvertisingParameters = AdvertisingParameters(AdvertisingData()),
    agent: (any PairingAgent)? = nil,
    onFailure: @escaping @Sendable (AttoError) -> Void = { _ in },
    onEnd: @escaping @Sendable (AttoError) -> Void = { _ in }
  ) async throws(AttoError) -> ServerListener {
    switch endpoint {
    case .unix(let path):
      let address = UnixAddress(path: path)
      return try await listen(endpoint, options, onFailure) {
        () throws(LinkError) in try UnixListener(address)
      }
    case .leAny(let source):
      return try await listen(kernel: source, options, advertising, agent, onFailure, onEnd) {
        () throws(AttoError) in
        try await listen(endpoint, options, onFailure) {
          () throws(LinkError) in try L2CAPListener(source: source)
        }
      }
    case .descriptor(let number):
      let core = core
      try await loop.complete { (completion: Completion<Void>) in
        do throws(AttoError) {
          let link: SocketLink
          do throws(LinkError) {
            link = try SocketLink.adopt(number)
          } catch {
            throw .link(error)
          }
          _ = try core.value.attach(link, options: options)
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
      return try await listen(air: name, options, advertising, agent, onFailure)
    case .le:
      throw .endpoint(EndpointError(text: endpoint.description, .notForListening))
    }
  }

  private func listen(
    _ endpoint: Endpoint, _ options: ConnectionOptions,
    _ onFailure: @escaping @Sendable (AttoError) -> Void,
    _ makeListener: @escaping @Sendable () throws(LinkError) -> any LinkListener
  ) async throws(AttoError) -> ServerListener {
    let core = core
    let loop = loop
    let acceptor: LoopBound<LinkAcceptor> = try await loop.complete { completion in
      do throws(LinkError) {
        let listener = try makeListener()
        do throws(LoopError) {
          let acceptor = try LinkAcceptor(
            listener, on: loop,
            { link in
              do throws(AttoError) {
                _ = try core.value.attach(link, options: options)
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
    air name: String, _ options: ConnectionOptions, _ parameters: AdvertisingParameters,
    _ agent: (any PairingAgent)?, _ onFailure: @escaping @Sendable (AttoError) -> Void
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
    let listener = try await advertise(
      on: radio, options: options, advertising: parameters, onFailure: onFailure)
    return ServerListener(endpoint: "air:\(name.isEmpty ? "\(radio.address)" : name)") {
      listener.stop()
    }
  }
}
