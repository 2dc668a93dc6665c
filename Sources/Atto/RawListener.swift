import ATT
import EventLoop
import Links

/// A place where raw connections are taken: for those who test clients octet by octet.
/// Released, it stops; connections live on.
public final class RawListener: Sendable {
  /// Where it listens, as people write it.
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

  /// Waits at a Unix socket, on an inherited descriptor (one connection), or on the kernel's
  /// L2CAP; nothing is advertised.
  ///
  /// - Throws: `link` if there is no listening there, `endpoint` if it is no such place.
  public static func listen(
    on endpoint: Endpoint, options: ConnectionOptions = ConnectionOptions(),
    loop: Loop = .shared
  ) async throws(AttoError) -> RawListener {
    switch endpoint {
    case .unix, .leAny, .descriptor: break
    case .le, .air:
      throw .endpoint(EndpointError(text: endpoint.description, .notForListening))
    }
    return try await loop.complete { (completion: Completion<RawListener>) in
      let acceptor = RawAcceptor(loop, options)
      do throws(LinkError) {
        switch endpoint {
        case .unix(let path): acceptor.listener = try UnixListener(UnixAddress(path: path))
        case .leAny(let source): acceptor.listener = try L2CAPListener(source: source)
        case .descriptor(let number): acceptor.waiting.append(try SocketLink.adopt(number))
        case .le, .air: break
        }
      } catch {
        return completion.resume(.failure(.link(error)))
      }
      do throws(LoopError) {
        try acceptor.start()
      } catch {
        return completion.resume(.failure(.loop(error)))
      }
      completion.resume(.success(RawListener(endpoint, acceptor)))
    }
  }

  /// The next connection, in the order of their coming; nil if none came in time.
  ///
  /// - Throws: `link` if accepting failed.
  public func accept(within time: Duration) async throws(AttoError) -> RawConnection? {
    let core = core
    return try await loop.complete { completion in core.value.accept(within: time, completion) }
  }
}

/// Takes connections on the loop's thread. The kernel's queue holds those that nobody has asked
/// for.
private final class RawAcceptor: ReadinessHandler {
  let loop: Loop
  var listener: (any LinkListener)?
  /// Links that are there from the beginning.
  var waiting: [any Link] = []
  private let options: ConnectionOptions
  private var watch: WatchID?
  private var readers: [(completion: Completion<RawConnection?>, timer: OneTimer)] = []

  init(_ loop: Loop, _ options: ConnectionOptions) {
    self.loop = loop
    self.options = options
  }

  func start() throws(LoopError) {
    guard let descriptor = listener?.descriptor else { return }
    watch = try loop.watch(descriptor, self)
  }

  func ready(_ readiness: Readiness) {
    while let reader = readers.first, let result = take() {
      readers.removeFirst()
      reader.timer.cancel()
      reader.completion.resume(result)
    }
  }

  /// nil if nobody waits.
  private func take() -> Result<RawConnection?, AttoError>? {
    do throws(LinkError) {
      let link: (any Link)? = waiting.isEmpty ? try listener?.accept() : waiting.removeFirst()
      guard let link else { return nil }
      return RawConnection.make(link, options, loop).map { $0 }
    } catch {
      return .failure(.link(error))
    }
  }

  func accept(within time: Duration, _ completion: Completion<RawConnection?>) {
    if let result = take() { return completion.resume(result) }
    let timer = OneTimer(after: time, on: loop) { [weak self] in
      self?.readers.removeAll { $0.completion === completion }
      completion.resume(.success(nil))
    }
    readers.append((completion, timer))
    completion.whenCancelled = { [unowned self] in
      timer.cancel()
      readers.removeAll { $0.completion === completion }
    }
  }

  func stop() {
    if let watch { loop.unwatch(watch) }
    watch = nil
    listener?.close()
    listener = nil
    for link in waiting { link.close() }
    waiting = []
    let readers = self.readers
    self.readers = []
    for reader in readers {
      reader.timer.cancel()
      reader.completion.resume(.success(nil))
    }
  }
}
