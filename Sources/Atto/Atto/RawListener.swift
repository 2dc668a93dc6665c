import AttoATT
import AttoEventLoop
import AttoLinks

/// A listener for raw connections, for tests of a client. It stops when it is released; connections
/// continue.
public final class RawListener: Sendable {
  /// The endpoint at which it listens, as text.
  public let endpoint: String
  private let loop: Loop
  private let core: LoopBound<RawAcceptor>

  private init(_ endpoint: Endpoint, _ core: RawAcceptor) {
    self.endpoint = endpoint.description
    loop = core.loop
    self.core = LoopBound(core, core.loop)
  }

  deinit {
    let core = core
    loop.execute { core.value.stop() }
  }

  /// Listens at a Unix socket, an inherited descriptor (for one connection), or the kernel's L2CAP.
  /// Nothing is advertised.
  ///
  /// - Throws: `link` if it cannot listen there, `endpoint` if the endpoint is not one to listen at.
  public static func listen(
    on endpoint: Endpoint, options: ConnectionOptions = ConnectionOptions(),
    loop: Loop = .shared
  ) async throws(AttoError) -> RawListener {
    switch endpoint {
    case .unix, .leAny, .descriptor: break
    case .le, .air:
      throw .endpoint(EndpointError(text: endpoint.description, .notForListening))
    }
    return try await loop.withWaiter { (waiter: Waiter<RawListener, AttoError>) in
      let acceptor = RawAcceptor(loop, options)
      do throws(LinkError) {
        switch endpoint {
        case .unix(let path): acceptor.listener = try SocketListener(UnixAddress(path: path))
        case .leAny(let source): acceptor.listener = try SocketListener(l2cap: source)
        case .descriptor(let number): acceptor.waiting.append(try SocketLink.adopt(number))
        case .le, .air: break
        }
      } catch {
        return waiter.resume(.failure(.link(error)))
      }
      do throws(LoopError) {
        try acceptor.start()
      } catch {
        return waiter.resume(.failure(.loop(error)))
      }
      waiter.resume(.success(RawListener(endpoint, acceptor)))
    }
  }

  /// Accepts the next connection; nil if none arrives in time.
  ///
  /// - Throws: `link` if accepting failed.
  public func accept(within time: Duration) async throws(AttoError) -> RawConnection? {
    let core = core
    return try await loop.withWaiter { waiter in core.value.accept(within: time, waiter) }
  }
}

/// Accepts connections on the loop's thread. Those that no caller waits for stay in the kernel's
/// queue.
private final class RawAcceptor: ReadinessHandler {
  let loop: Loop
  var listener: SocketListener<SocketLink>?
  /// Links that exist from the beginning.
  var waiting: [any Link] = []
  private let options: ConnectionOptions
  private var watch: WatchID?
  private let callers = WaiterList<Void, RawConnection?, AttoError>()

  init(_ loop: Loop, _ options: ConnectionOptions) {
    self.loop = loop
    self.options = options
  }

  func start() throws(LoopError) {
    guard let descriptor = listener?.descriptor else { return }
    watch = try loop.watch(descriptor, self)
  }

  func ready(_ readiness: Readiness) {
    while !callers.isEmpty, let result = accept() { callers.resumeFirst(result) }
    continueLater()
  }

  /// The listener skips a bounded number of dead connections in a call.
  private func continueLater() {
    if let watch, !callers.isEmpty, listener?.mayHaveMore == true {
      loop.reschedule(watch, .readable)
    }
  }

  /// The next connection; nil if there is none.
  private func accept() -> Result<RawConnection?, AttoError>? {
    do throws(LinkError) {
      let link: (any Link)? = waiting.isEmpty ? try listener?.accept() : waiting.removeFirst()
      guard let link else { return nil }
      return RawConnection.make(link, options, loop).map { $0 }
    } catch {
      return .failure(.link(error))
    }
  }

  func accept(within time: Duration, _ waiter: Waiter<RawConnection?, AttoError>) {
    if let result = accept() { return waiter.resume(result) }
    waiter.resume(.success(nil), after: time)
    callers.append(waiter)
    continueLater()
  }

  func stop() {
    if let watch { loop.unwatch(watch) }
    watch = nil
    listener?.close()
    listener = nil
    for link in waiting { link.close() }
    waiting = []
    callers.resumeAll(.success(nil))
  }
}
