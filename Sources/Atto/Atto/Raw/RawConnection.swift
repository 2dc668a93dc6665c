import AttoATT
import AttoEventLoop
import AttoLinks
import AttoRadio

/// A link without a bearer, for tests of a peer: PDUs are sent and received exactly as they are.
public final class RawConnection: Sendable {
  /// The loop on which everything happens.
  public let loop: Loop
  private let core: LoopBound<RawCore>

  private init(_ core: RawCore) {
    loop = core.loop
    self.core = LoopBound(core, core.loop)
  }

  deinit {
    let core = core
    loop.execute { core.value.close(nil) }
  }

  /// Opens a link to an endpoint. The parameters are those of
  /// ``Connection/connect(to:options:server:adapter:loop:)``.
  ///
  /// - Throws: what ``Connection/connect(to:options:server:adapter:loop:)`` throws.
  public static func connect(
    to endpoint: Endpoint, options: ConnectionOptions = ConnectionOptions(),
    adapter: Adapter? = nil, loop: Loop? = nil
  ) async throws(AttoError) -> RawConnection {
    let loop = loop ?? adapter?.loop ?? .shared
    return try await endpoint.open(options, adapter, loop) { link, _ in make(link, options, loop) }
  }

  /// On the loop's thread.
  package static func make(
    _ link: any Link, _ options: ConnectionOptions, _ loop: Loop
  ) -> Result<RawConnection, AttoError> {
    let core = RawCore(link, on: loop, monitor: options.monitor(of: link))
    do throws(LoopError) {
      try core.open()
    } catch {
      return .failure(.loop(error))
    }
    return .success(RawConnection(core))
  }

  /// Sends octets as one PDU; waits for room if the link has none.
  ///
  /// - Throws: `link` if the link refuses it, `disconnected` or `closed` after its end, `cancelled`.
  public func send(_ pdu: [UInt8]) async throws(AttoError) {
    let core = core
    try await loop.withWaiter { (waiter: Waiter<Void, AttoError>) in
      core.value.send(pdu, waiter)
    }
  }

  /// Receives the next PDU; nil if none arrives in time.
  ///
  /// - Throws: `disconnected`, `closed` or `link` at the link's end.
  public func receive(within time: Duration) async throws(AttoError) -> [UInt8]? {
    let core = core
    return try await loop.withWaiter { waiter in core.value.receive(within: time, waiter) }
  }

  /// Opens enhanced bearers beside the link, which is encrypted first if it is not. Each is a
  /// connection that can be closed alone; all end with this one.
  ///
  /// - Parameters:
  ///   - count: 1 to 5; the peer may accept fewer.
  ///   - mtu: the longest PDU that this end receives, in octets: 64 to 65535.
  /// - Throws: `radio` if there are none; `securityTimeout` or `link` if the link is not encrypted;
  ///   `disconnected` or `closed` after its end; `cancelled`.
  package func openBearers(
    _ count: Int, mtu: Int, within time: Duration
  ) async throws(AttoError) -> [RawConnection] {
    let (core, loop) = (core, loop)
    try await loop.withWaiter { (waiter: Waiter<Void, AttoError>) in
      core.value.raiseSecurity(to: .medium, within: time, waiter)
    }
    return try await loop.withWaiter { (waiter: Waiter<[RawConnection], AttoError>) in
      core.value.openBearers(count, mtu: mtu, within: time) { result in
        waiter.resume(result.map { $0.map(RawConnection.init) })
      }
    }
  }

  /// ATT_MTU of an enhanced bearer: the smaller one of both ends' MTUs; nil for other links.
  ///
  /// - Throws: `cancelled`, and nothing else.
  package var enhancedMTU: Int? {
    get async throws(AttoError) {
      let core = core
      return try await loop.withWaiter { (waiter: Waiter<Int?, AttoError>) in
        waiter.resume(.success(core.value.link.enhancedMTU))
      }
    }
  }

  /// Raises the longest PDU that this end of an enhanced bearer receives; see
  /// `Link.raiseReceiveMTU(to:)`.
  ///
  /// - Throws: `link` if the link has ended or is no enhanced bearer, `cancelled`.
  package func raiseReceiveMTU(to octets: Int) async throws(AttoError) {
    let core = core
    try await loop.withWaiter { (waiter: Waiter<Void, AttoError>) in
      do throws(LinkError) {
        try core.value.link.raiseReceiveMTU(to: octets)
        waiter.resume(.success(()))
      } catch {
        waiter.resume(.failure(.link(error)))
      }
    }
  }

  /// Closes the link.
  public func close() {
    let core = core
    loop.inline { core.value.close(nil) }
  }
}

extension Connection {
  /// Opens channels of enhanced bearers beside the bearers of this connection, which does not use
  /// them. The link must be encrypted. They end with the connection's link.
  ///
  /// - Parameters:
  ///   - count: 1 to 5; the peer may accept fewer.
  ///   - mtu: the longest PDU that this end receives, in octets: 64 to 65535.
  /// - Throws: `radio` if there are none, the error that ended the connection, `cancelled`.
  package func openChannels(
    _ count: Int, mtu: Int, within time: Duration
  ) async throws(AttoError) -> [RawConnection] {
    try await withWaiter { (core, waiter: Waiter<[RawConnection], AttoError>) in
      if let end = core.end { return waiter.resume(.failure(end)) }
      _ = EnhancedBearers.open(count, mtu: mtu, beside: core.link, on: core.loop, timeout: time) {
        result in
        switch result {
        case .success(let links):
          waiter.resume(
            .success(
              links.compactMap {
                try? RawConnection.make($0, ConnectionOptions(), core.loop).get()
              }))
        case .failure(let error): waiter.resume(.failure(core.end ?? .radio(error)))
        }
      }
    }
  }
}

/// The part of a raw connection on the loop's thread.
private final class RawCore: ReadinessHandler, LinkObserver, TurnHandler {
  let loop: Loop
  let link: any Link
  private let monitor: (@Sendable (MonitoredEvent) -> Void)?
  /// The number of the enhanced bearer; 0 for the unenhanced one.
  private let bearer: Int
  private var lastBearer = 0
  private let buffer = ReceiveBuffer(capacity: 65536)
  private var watch: WatchID?
  private var received: [[UInt8]] = []
  private var receivedOctets = 0
  /// Callers that wait for the next PDU.
  private let readers = WaiterList<Void, [UInt8]?, AttoError>()
  /// Callers that wait until the link accepts their PDU.
  private let writers = WaiterList<[UInt8], Void, AttoError>()
  /// Callers that wait for the link's security.
  private let raising = WaiterList<SecurityLevel, Void, AttoError>()
  private var end: AttoError?
  /// Why nothing can be sent any more. All that is left is received then, without a limit.
  private var sendFailure: AttoError?

  /// PDUs that may wait before the peer is held back, and their octets.
  static let limit = 1024
  static let octetLimit = 1 << 20
  /// PDUs that callers get without waiting for the next turn. A caller that gets its PDU at once does
  /// not leave the loop's thread, so that a flood would keep timers and signals waiting.
  private static let turnLimit = 64
  private var givenAtOnce = 0

  private var isReading = false

  init(
    _ link: any Link, on loop: Loop, monitor: (@Sendable (MonitoredEvent) -> Void)?, bearer: Int = 0
  ) {
    self.bearer = bearer
    self.link = link
    self.loop = loop
    self.monitor = monitor
  }

  func open() throws(LoopError) {
    if let descriptor = link.descriptor { watch = try loop.watch(descriptor, self) }
    link.observer = self
  }

  func ready(_ readiness: Readiness) {
    noteSecurity()
    flush()
    read()
  }

  /// The link knows of something that its descriptor does not tell, or has none.
  func linkReady(_ readiness: LinkReadiness) {
    noteSecurity()
    flush()
    read()
  }

  private func read() {
    // A link may call its observer while it receives.
    guard !isReading else { return }
    isReading = true
    defer { isReading = false }
    while end == nil, sendFailure != nil || hasRoom {
      do throws(LinkError) {
        switch try buffer.receive(from: link) {
        case .pdu: deliver(buffer.withPDU { $0.owned })
        case .wouldBlock:
          if let sendFailure { close(sendFailure) }
          return
        case .closed: close(.disconnected(peer: link.peerName))
        }
      } catch {
        close(.link(error))
      }
    }
  }

  private var hasRoom: Bool { received.count < Self.limit && receivedOctets < Self.octetLimit }

  private func deliver(_ pdu: [UInt8]) {
    note(.received, pdu)
    if received.isEmpty, readers.resumeFirst(.success(pdu)) { return }
    received.append(pdu)
    receivedOctets += pdu.count
  }

  private func note(_ direction: MonitoredPDU.Direction, _ pdu: [UInt8]) {
    monitor?(
      .pdu(
        MonitoredPDU(
          direction: direction, octets: pdu, mtu: .max, time: Instant(nanoseconds: loop.now),
          bearer: bearer)))
  }

  func receive(within time: Duration, _ waiter: Waiter<[UInt8]?, AttoError>) {
    if !received.isEmpty {
      if givenAtOnce < Self.turnLimit {
        givenAtOnce += 1
        waiter.resume(.success(removeFirst()))
        return read()
      }
      loop.atEndOfTurn(self)
    } else if let end {
      return waiter.resume(.failure(end))
    }
    waiter.resume(.success(nil), after: time)
    readers.append(waiter)
  }

  func turnEnds() {
    givenAtOnce = 0
    while !received.isEmpty, !readers.isEmpty { readers.resumeFirst(.success(removeFirst())) }
    if received.isEmpty, let end { readers.resumeAll(.failure(end)) }
    read()
  }

  private func removeFirst() -> [UInt8] {
    let pdu = received.removeFirst()
    receivedOctets -= pdu.count
    return pdu
  }

  func send(_ pdu: [UInt8], _ waiter: Waiter<Void, AttoError>) {
    if let end { return waiter.resume(.failure(end)) }
    writers.append(waiter, for: pdu)
    flush()
  }

  private func flush() {
    while let pdu = writers.firstKey {
      do throws(LinkError) {
        guard try link.send(pdu.span.bytes) == .sent else { return }
      } catch {
        // Receiving tells the reason, after what the peer sent before.
        sendFailure = .link(error)
        return read()
      }
      note(.sent, pdu)
      writers.resumeFirst(.success(()))
    }
  }

  // MARK: Enhanced bearers

  func raiseSecurity(
    to level: SecurityLevel, within time: Duration, _ waiter: Waiter<Void, AttoError>
  ) {
    if let end { return waiter.resume(.failure(end)) }
    guard link.radioAddresses != nil else {
      return waiter.resume(.failure(.radio(.unsupported("enhanced bearers on \(link.peerName)"))))
    }
    do throws(LinkError) {
      try link.raiseSecurity(to: level)
    } catch {
      return waiter.resume(.failure(.link(error)))
    }
    waiter.resume(.failure(.securityTimeout(level, after: time)), after: time)
    raising.append(waiter, for: level)
    noteSecurity()
  }

  private func noteSecurity() {
    guard !raising.isEmpty else { return }
    let level = link.security.level
    raising.resume(.success(())) { $0 <= level }
  }

  func openBearers(
    _ count: Int, mtu: Int, within time: Duration,
    _ completion: @escaping (Result<[RawCore], AttoError>) -> Void
  ) {
    if let end { return completion(.failure(end)) }
    _ = EnhancedBearers.open(count, mtu: mtu, beside: link, on: loop, timeout: time) { result in
      switch result {
      case .success(let links): completion(.success(links.compactMap(self.adopt)))
      case .failure(let error): completion(.failure(self.end ?? .radio(error)))
      }
    }
  }

  /// The core of a bearer that was opened beside this link; nil if it cannot be watched.
  private func adopt(_ link: any Link) -> RawCore? {
    lastBearer += 1
    let core = RawCore(link, on: loop, monitor: monitor, bearer: lastBearer)
    do throws(LoopError) {
      try core.open()
    } catch {
      link.close()
      return nil
    }
    return core
  }

  func close(_ reason: AttoError?) {
    guard end == nil else { return }
    let error = reason ?? .closed
    end = error
    link.observer = nil
    if let watch { loop.unwatch(watch) }
    watch = nil
    link.close()
    // The end of a bearer is not that of the link.
    if bearer == 0 { monitor?(.ended(error)) }
    raising.resumeAll(.failure(error))
    writers.resumeAll(.failure(error))
    // Callers get what was received before.
    if received.isEmpty { readers.resumeAll(.failure(error)) }
  }
}
