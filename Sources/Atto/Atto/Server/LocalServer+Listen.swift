import AttoEventLoop
import AttoRadio

/// A place where a server listens for clients. It stops when it is released; connections continue.
public final class ServerListener: Sendable {
  /// The endpoint at which it listens, as text.
  public let endpoint: String
  /// A message for the user, for instance that it does not advertise, and why.
  public let notice: String?
  /// Whether the server is advertised; true where no radio is needed.
  public let isAdvertised: Bool
  /// Why clients have the unenhanced bearer only, although ``ConnectionOptions/enhancedBearers`` asks
  /// for more; nil if nothing prevents them.
  public let bearerFailure: RadioError?
  private let stopper: @Sendable () -> Void

  init(
    endpoint: String, notice: String? = nil, isAdvertised: Bool = true,
    bearerFailure: RadioError? = nil, stopper: @escaping @Sendable () -> Void
  ) {
    self.endpoint = endpoint
    self.notice = notice
    self.isAdvertised = isAdvertised
    self.bearerFailure = bearerFailure
    self.stopper = stopper
  }

  deinit { stopper() }

  /// Accepts no more connections.
  public func stop() { stopper() }
}

extension LocalServer {
  /// Listens for clients at an endpoint, and advertises on `air:` and, if the process may, on `le:`
  /// endpoints (see ``ServerListener/notice``).
  ///
  /// - Parameters:
  ///   - onFailure: called on the loop when a client could not be accepted. If the server is full, a
  ///     client of a Unix socket or of the virtual air may lose its place to a new one:
  ///     ``ServedEvent/evicted(_:peer:_:)``. One that is refused gets Insufficient Resources for its
  ///     first request.
  ///   - onEnd: called on the loop when no more clients can connect because the kernel's adapter was
  ///     unplugged; not after `stop()`.
  /// - Throws: `link` or `radio` if it cannot listen there, `endpoint` if the endpoint is not one to
  ///   listen at.
  public func listen(
    on endpoint: Endpoint, options: ListenOptions = ListenOptions(),
    onFailure: @escaping @Sendable (AttoError) -> Void = { _ in },
    onEnd: @escaping @Sendable (AttoError) -> Void = { _ in }
  ) async throws(AttoError) -> ServerListener {
    try await reception(options, onFailure, onEnd).listen(on: endpoint, options)
  }

  /// Advertises on a radio and serves the centrals that connect. The radio must be on the
  /// server's loop.
  ///
  /// - Parameters:
  ///   - onFailure: called on the loop when a client could not be accepted.
  ///   - onEnd: called on the loop when the radio was unplugged; not after `stop()`.
  /// - Throws: `radio` if it cannot advertise.
  public func advertise(
    on radio: Adapter, options: ListenOptions,
    onFailure: @escaping @Sendable (AttoError) -> Void = { _ in },
    onEnd: @escaping @Sendable (AttoError) -> Void = { _ in }
  ) async throws(AttoError) -> ServerListener {
    precondition(radio.loop === loop, "the radio is on another loop")
    return try await reception(options, onFailure, onEnd).advertise(on: radio, options)
  }

  /// Accepts links and serves their peers.
  func reception(
    _ options: ListenOptions, _ onFailure: @escaping @Sendable (AttoError) -> Void,
    _ onEnd: @escaping @Sendable (AttoError) -> Void
  ) -> LinkReception {
    let core = core
    return LinkReception(
      loop: loop, onFailure: onFailure, onEnd: onEnd,
      channelMTU: options.connection.enhancedBearers > 0 ? options.connection.channelMTU : nil
    ) {
      (link) throws(AttoError) in try core.value.accept(link, options)
    }
  }
}
