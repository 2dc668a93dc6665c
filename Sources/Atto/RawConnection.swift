import ATT
import EventLoop
import Links
import Radio

/// A link without a bearer on it: PDUs exactly as the caller writes them, and exactly as they
/// come. For those who test what a peer does with them.
public final class RawConnection: Sendable {
  /// Where everything of it happens.
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

  /// Opens a link to an endpoint.
  ///
  /// - Throws: what ``Connection/connect(to:options:server:adapter:loop:)`` throws.
  public static func connect(
    to endpoint: Endpoint, options: ConnectionOptions = ConnectionOptions(),
    adapter: AirAdapter? = nil, loop: Loop = .shared
  ) async throws(AttoError) -> RawConnection {
    try await endpoint.open(options, adapter, loop) { link in make(link, options, loop) }
  }

  /// On the loop's thread.
  static func make(
    _ link: any Link, _ options: ConnectionOptions, _ loop: Loop
  ) -> Result<RawConnection, AttoError> {
    let core = RawCore(link, on: loop, monitor: options.monitor)
    do throws(LoopError) {
      try core.open()
    } catch {
      return .failure(.loop(error))
    }
    return .success(RawConnection(core))
  }

  /// Sends octets as one PDU; waits for room if the link has none.
  ///
  /// - Throws: `link` if the link does not take it, `disconnected` after its end, `cancelled`.
  public func send(_ pdu: [UInt8]) async throws(AttoError) {
    let core = core
    try await loop.complete { (completion: Completion<Void>) in
      core.value.send(pdu, completion)
    }
  }

  /// The next PDU; nil if none came in time.
  ///
  /// - Throws: `disconnected` or `link` at the link's end.
  public func receive(within time: Duration) async throws(AttoError) -> [UInt8]? {
    let core = core
    return try await loop.complete { completion in core.value.receive(within: time, completion) }
  }

  /// Closes the link.
  public func close() {
    let core = core
    loop.inline { core.value.close(nil) }
  }
}

/// What a raw connection does on the loop's thread.
private final class RawCore: ReadinessHandler {
  let loop: Loop
  private let link: any Link
  private let monitor: (@Sendable (MonitoredPDU) -> Void)?
  private let buffer = ReceiveBuffer(capacity: 65536)
  private var watch: WatchID?
  private var received: [[UInt8]] = []
  /// Those who wait for the next PDU, in the order of their coming.
  private var readers: [(completion: Completion<[UInt8]?>, timer: OneTimer)] = []
  private var unsent: [(pdu: [UInt8], completion: Completion<Void>)] = []
  private var end: AttoError?
  /// Why nothing can be sent any more; what is left to receive is taken then, whatever its
  /// number.
  private var sendFailure: AttoError?

  /// PDUs that wait to be taken, before the peer is held back.
  static let limit = 1024

  init(_ link: any Link, on loop: Loop, monitor: (@Sendable (MonitoredPDU) -> Void)?) {
    self.link = link
    self.loop = loop
    self.monitor = monitor
  }

  func open() throws(LoopError) {
    if let descriptor = link.descriptor { watch = try loop.watch(descriptor, self) }
  }

  func ready(_ readiness: Readiness) {
    flush()
    read()
  }

  private func read() {
    while end == nil, sendFailure != nil || received.count < Self.limit {
      do throws(LinkError) {
        switch try buffer.receive(from: link) {
        case .pdu: take(buffer.withPDU { $0.owned })
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

  private func take(_ pdu: [UInt8]) {
    note(.received, pdu)
    guard !readers.isEmpty else { return received.append(pdu) }
    let reader = readers.removeFirst()
    reader.timer.cancel()
    reader.completion.resume(.success(pdu))
  }

  private func note(_ direction: MonitoredPDU.Direction, _ pdu: [UInt8]) {
    monitor?(
      MonitoredPDU(
        direction: direction, octets: pdu, mtu: .max, time: Instant(nanoseconds: loop.now)))
  }

  func receive(within time: Duration, _ completion: Completion<[UInt8]?>) {
    if !received.isEmpty {
      completion.resume(.success(received.removeFirst()))
      return read()
    }
    if let end { return completion.resume(.failure(end)) }
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

  func send(_ pdu: [UInt8], _ completion: Completion<Void>) {
    if let end { return completion.resume(.failure(end)) }
    unsent.append((pdu, completion))
    completion.whenCancelled = { [unowned self] in
      unsent.removeAll { $0.completion === completion }
    }
    flush()
  }

  private func flush() {
    while let (pdu, completion) = unsent.first {
      do throws(LinkError) {
        guard try link.send(pdu.span.bytes) == .sent else { return }
      } catch {
        // Only receiving tells why, and what the peer has said before.
        sendFailure = .link(error)
        return read()
      }
      unsent.removeFirst()
      note(.sent, pdu)
      completion.resume(.success(()))
    }
  }

  func close(_ reason: AttoError?) {
    guard end == nil else { return }
    let error = reason ?? .disconnected(peer: link.peerName)
    end = error
    if let watch { loop.unwatch(watch) }
    watch = nil
    link.close()
    let (unsent, readers) = (self.unsent, self.readers)
    self.unsent = []
    self.readers = []
    for entry in unsent { entry.completion.resume(.failure(error)) }
    for reader in readers {
      reader.timer.cancel()
      reader.completion.resume(.failure(error))
    }
  }
}
