import EventLoop
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
    advertising parameters: AdvertisingParameters = AdvertisingParameters(AdvertisingData()),
    agent: (any PairingAgent)? = nil,
    onFailure: @escaping @Sendable (AttoError) -> Void = { _ in },
    onEnd: @escaping @Sendable (AttoError) -> Void = { _ in }
  ) async throws(AttoError) -> ServerListener {
    try await reception(options, onFailure, onEnd).listen(
      on: endpoint, advertising: parameters, agent: agent)
  }

  /// What serves those who come.
  func reception(
    _ options: ConnectionOptions, _ onFailure: @escaping @Sendable (AttoError) -> Void,
    _ onEnd: @escaping @Sendable (AttoError) -> Void
  ) -> LinkReception {
    let core = core
    return LinkReception(loop: loop, onFailure: onFailure, onEnd: onEnd) {
      (link) throws(AttoError) in _ = try core.value.attach(link, options: options)
    }
  }
}
