import AttoATT
import AttoEventLoop
import AttoLinks
import AttoRadio

/// A listener for raw connections, for tests of a client. It stops when it is released; connections
/// continue.
public final class RawListener: Sendable {
  /// Links that wait for a caller of ``accept(within:)``; further ones are closed.
  public static let waitingLimit = 64

  /// The endpoint at which it listens, as text.
  public let endpoint: String
  /// A message for the user, see `ServerListener.notice`.
  public let notice: String?
  private let loop: Loop
  private let listener: ServerListener
  private let core: LoopBound<WaitingLinks>

  private init(_ listener: ServerListener, _ core: LoopBound<WaitingLinks>) {
    endpoint = listener.endpoint
    notice = listener.notice
    loop = core.loop
    self.listener = listener
    self.core = core
  }

  deinit {
    listener.stop()
    let core = core
    loop.execute { core.value.stop() }
  }

  /// Listens at an endpoint, as described at
  /// ``LocalServer/listen(on:options:onFailure:onEnd:)``. A descriptor (`fd:`) is one connection.
  ///
  /// - Parameter options: of those of the connections, only `monitor` is used.
  /// - Throws: `link` or `radio` if it cannot listen there, `endpoint` if the endpoint is not one to
  ///   listen at.
  public static func listen(
    on endpoint: Endpoint, options: ListenOptions = ListenOptions(), loop: Loop = .shared
  ) async throws(AttoError) -> RawListener {
    let core = LoopBound(WaitingLinks(loop, options.connection), loop)
    let reception = LinkReception(
      loop: loop, onFailure: { core.value.failed($0) }, onEnd: { core.value.ended($0) }
    ) {
      (link) throws(AttoError) in try core.value.add(link)
    }
    let listener = try await reception.listen(on: endpoint, options)
    return RawListener(listener, core)
  }

  /// Accepts the next connection; nil if none arrives in time.
  ///
  /// - Throws: `link` if accepting failed; `radio` if no more can come, since the adapter was unplugged.
  public func accept(within time: Duration) async throws(AttoError) -> RawConnection? {
    let core = core
    return try await loop.withWaiter { waiter in core.value.accept(within: time, waiter) }
  }
}

/// Links that no caller has asked for yet, and callers that wait for one. Used on the loop's thread.
private final class WaitingLinks {
  private let loop: Loop
  private let options: ConnectionOptions
  private var links: [any Link] = []
  private let callers = WaiterList<Void, RawConnection?, AttoError>()
  /// Why no more links come.
  private var end: AttoError?

  init(_ loop: Loop, _ options: ConnectionOptions) {
    self.loop = loop
    self.options = options
  }

  func add(_ link: any Link) throws(AttoError) {
    if callers.resumeFirst(connection(of: link)) { return }
    guard links.count < RawListener.waitingLimit else {
      link.close()
      throw .tooManyClients(limit: RawListener.waitingLimit)
    }
    links.append(link)
  }

  private func connection(of link: any Link) -> Result<RawConnection?, AttoError> {
    RawConnection.make(link, options, loop).map { $0 }
  }

  /// A caller that waits is told. The next one may be more fortunate.
  func failed(_ error: AttoError) { callers.resumeFirst(.failure(error)) }

  func ended(_ error: AttoError) {
    end = error
    callers.resumeAll(.failure(error))
  }

  func accept(within time: Duration, _ waiter: Waiter<RawConnection?, AttoError>) {
    guard links.isEmpty else { return waiter.resume(connection(of: links.removeFirst())) }
    if let end { return waiter.resume(.failure(end)) }
    waiter.resume(.success(nil), after: time)
    callers.append(waiter)
  }

  func stop() {
    for link in links { link.close() }
    links = []
    callers.resumeAll(.success(nil))
  }
}
