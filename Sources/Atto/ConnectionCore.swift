import ATT
import EventLoop
import GATT
import Links

/// A session on a link, driven by a loop: everything of a connection that happens on the loop's
/// thread.
///
/// # Theory
///
/// When the link is readable, PDUs are received until there is none left, or the share of this
/// turn is used up. Each goes through the session and what that wants sent goes to the link at
/// once, all in one call from the readiness of the descriptor to the response on its way. The
/// system call is tried first; only when the link has no room does anything wait for its
/// readiness.
///
/// Back-pressure: while the link takes no more and the outbox is at its limit, nothing is read,
/// so that a peer that does not read cannot make this end collect responses. While a consumer
/// of values has all it may hold, nothing is read either, unless a response or confirmation is
/// awaited, which may stand behind more values.
///
/// Once the peer has gone, what it has left in the link is read to its end without regard to
/// who takes it: only there does the link tell that, and why, it has ended.
///
/// The descriptor is watched edge-triggered: what was not read is remembered (`isReadable`) and
/// read when the reason not to has gone.
final class ConnectionCore {
  let loop: Loop
  let session: Session
  let peerName: String
  let link: any Link
  private let options: ConnectionOptions
  private let buffer: ReceiveBuffer
  private let holdsBackPeer: Bool
  private var watch: WatchID?
  private var timer: (id: TimerID, at: Int64)?
  private var isReadable = true
  private var isReading = false
  private var isFlushing = false
  /// Whether the peer has gone: what it has left is read to the end.
  private var isDraining = false
  /// Why nothing can be sent any more.
  private var sendFailure: AttoError?
  private var reader: Resumption?
  /// Whether somebody on the loop wants the peer held back.
  private var isHeldBack = false

  private(set) var queues: [ValueQueue] = []
  /// Called with each value, without a copy.
  var valueObserver: ((AttributeHandle, RawSpan) -> Void)?
  private var writers: [Completion<Void>] = []
  private var confirmations: [(id: TransactionID, completion: Completion<Void>)] = []
  private var closeWaiters: [Completion<Void>] = []
  /// Those who wait for the link to reach a level.
  var securityWaiters: [(level: SecurityLevel, completion: Completion<Void>, timer: OneTimer)] = []
  /// The server behind the connection.
  private let server: ServerCore?
  /// Why the connection has ended.
  private(set) var end: AttoError?
  private(set) var counters = ConnectionCounters()

  /// PDUs of one turn, after which other connections have theirs.
  static let pdusPerTurn = 64

  init(
    _ link: any Link, on loop: Loop, options: ConnectionOptions, server: ServerCore?,
    client: ServerClient?
  ) {
    self.link = link
    self.loop = loop
    self.options = options
    self.server = server
    peerName = link.peerName
    var configuration = options.bearer
    holdsBackPeer = (link as? SocketLink)?.carrier != .l2cap
    configuration.linkMayBeReused = (link as? SocketLink)?.mayBeReused ?? false
    session = Session(configuration, server: server?.server, client: client)
    // L2CAP wants room for the kernel's 672 octets, and one octet more tells a longer PDU.
    buffer = ReceiveBuffer(capacity: max(672, options.receiveMTU) + 1)
  }

  /// Begins to listen to the link.
  func open() throws(AttoError) {
    if let descriptor = link.descriptor {
      do { watch = try loop.watch(descriptor, self) } catch { throw .loop(error) }
    }
    link.observer = self
    arm()
    if watch == nil { read() }
  }

  var now: Instant { Instant(nanoseconds: loop.now) }
  var queueLimit: Int { options.valueLimit }

  // MARK: Receiving

  private var mayRead: Bool {
    guard end == nil else { return false }
    if isDraining { return true }
    guard !session.bearer.isCongested else { return false }
    // Unread PDUs hold back a peer, but not on LE's fixed channel: there the kernel drops what
    // its buffer has no room for, and nobody counts it. So they are taken, and the queue counts.
    if !holdsBackPeer { return true }
    return !(isHeldBack || queues.contains(where: \.isFull)) || session.operationCount > 0
      || session.deadline != nil
  }

  private func read() {
    guard !isReading else { return }
    isReading = true
    defer { isReading = false }
    var share = Self.pdusPerTurn
    while isReadable, mayRead {
      guard share > 0 else { return continueLater() }
      share -= 1
      do throws(LinkError) {
        switch try buffer.receive(from: link) {
        case .pdu:
          buffer.withPDU { pdu in receive(pdu) }
          settle()
        case .wouldBlock:
          isReadable = false
          if let sendFailure { finish(sendFailure) } else { arm() }
        case .closed: finish(.disconnected(peer: peerName))
        }
      } catch {
        finish(.link(error))
      }
    }
  }

  private func continueLater() {
    if let watch { return loop.reschedule(watch, .readable) }
    let reader = Resumption(self)
    self.reader = reader
    loop.schedule(at: loop.now, reader)
  }

  private func receive(_ pdu: RawSpan) {
    counters.received += 1
    monitor(.received, pdu)
    let action = session.receive(pdu, at: now)
    switch action {
    case .none: break
    case .notification, .notifications, .indication:
      deliver(PDU(pdu))
      if action == .indication { session.confirm() }
    case .confirmed(let id): confirmed(id)
    case .failed(let failure): finish(.bearer(failure))
    }
  }

  private func deliver(_ pdu: borrowing PDU) {
    switch pdu {
    case .handleValueNotification(let pdu): deliver(pdu.handle, pdu.value, isIndication: false)
    case .handleValueIndication(let pdu): deliver(pdu.handle, pdu.value, isIndication: true)
    case .multipleHandleValueNotification(let pdu):
      var values = pdu.makeIterator()
      while let value = values.next() {
        deliver(value.handle, value.value, isIndication: false)
      }
    default: break
    }
  }

  private func deliver(_ handle: AttributeHandle, _ value: RawSpan, isIndication: Bool) {
    valueObserver?(handle, value)
    var isTaken = valueObserver != nil
    for queue in queues where queue.handle == nil || queue.handle == handle {
      queue.offer(handle, value, isIndication: isIndication, isLimited: !isDraining)
      isTaken = true
    }
    if !isTaken { counters.unclaimedValues += 1 }
  }

  // MARK: Sending

  /// After anything that may have changed the session: sends what it wants sent, sees to the
  /// timer, and tells the server's owner what has happened.
  func settle() {
    flush()
    arm()
    server?.settle()
  }

  private func flush() {
    guard end == nil, !isFlushing else { return }
    guard sendFailure == nil else { return session.bearer.outbox.removeAll() }
    isFlushing = true
    defer { isFlushing = false }
    while !session.bearer.outbox.isEmpty {
      do throws(LinkError) {
        let outcome = try session.bearer.outbox.withFirst { (pdu) throws(LinkError) in
          try link.send(pdu)
        }
        guard outcome == .sent else { break }
      } catch {
        return sendingFailed(.link(error))
      }
      counters.sent += 1
      if options.monitor != nil {
        let pdu = session.bearer.outbox.withFirst { $0.owned } ?? []
        monitor(.sent, pdu.span.bytes)
      }
      session.bearer.outbox.removeFirst()
    }
    if !session.bearer.isCongested, !session.bearer.holdsValues { wakeWriters() }
  }

  /// The link takes nothing more. The connection ends as soon as what the peer has said before
  /// is read, with what the link says of its end; if that is nothing, with this error.
  private func sendingFailed(_ error: AttoError) {
    sendFailure = error
    session.bearer.outbox.removeAll()
    isDraining = true
    isReadable = true
    if !isReading { continueLater() }
  }

  private func wakeWriters() {
    guard !writers.isEmpty else { return }
    let waiting = writers
    writers = []
    for writer in waiting { writer.resume(.success(())) }
  }

  /// Waits until commands and notifications have room.
  func awaitRoom(_ completion: Completion<Void>) {
    if let end { return completion.resume(.failure(end)) }
    guard session.bearer.isCongested || session.bearer.holdsValues else {
      return completion.resume(.success(()))
    }
    writers.append(completion)
    completion.whenCancelled = { [unowned self] in writers.removeAll { $0 === completion } }
  }

  private func monitor(_ direction: MonitoredPDU.Direction, _ pdu: RawSpan) {
    guard let monitor = options.monitor else { return }
    monitor(
      MonitoredPDU(
        direction: direction, octets: pdu.owned, mtu: session.bearer.mtu, time: now))
  }

  // MARK: Operations

  func start(_ operation: ClientOperation) -> TransactionID {
    let id = session.start(operation, at: now)
    settle()
    // Reading may have paused for values that nobody takes.
    read()
    return id
  }

  func startExchangeMTU(_ operation: ClientOperation) -> TransactionID? {
    let id = session.startExchangeMTU(operation, at: now)
    settle()
    read()
    return id
  }

  func cancel(_ id: TransactionID) {
    session.cancel(id, at: now)
    settle()
  }

  /// Indicates a value and completes with its confirmation.
  func indicate(_ handle: AttributeHandle, _ value: [UInt8], _ completion: Completion<Void>) {
    do throws(ProcedureError) {
      let id = try session.indicate(handle, value, at: now)
      confirmations.append((id, completion))
      completion.whenCancelled = { [unowned self] in
        confirmations.removeAll { $0.id == id }
        session.cancel(indication: id)
      }
    } catch {
      completion.resume(.failure(AttoError(error, end: end)))
    }
    settle()
    read()
  }

  private func confirmed(_ id: TransactionID) {
    guard let index = confirmations.firstIndex(where: { $0.id == id }) else { return }
    confirmations.remove(at: index).completion.resume(.success(()))
  }

  // MARK: Values

  func add(_ queue: ValueQueue) {
    if end != nil { return queue.finish(endOfValues) }
    queue.whenDrained = { [weak self] in self?.read() }
    queues.append(queue)
  }

  func holdBack(_ isHeld: Bool) {
    isHeldBack = isHeld
    if !isHeld { read() }
  }

  func remove(_ queue: ValueQueue) {
    queues.removeAll { $0 === queue }
    queue.finish(nil)
    read()
  }

  // MARK: Time and the end

  /// Sets the timer to the next deadline. A timer that is earlier than need be stays: most
  /// deadlines only move away, and it costs nothing but one look.
  private func arm() {
    guard end == nil else { return }
    var deadline = session.deadline?.nanoseconds ?? .max
    if let moment = link.deadline?.nanoseconds { deadline = min(deadline, moment) }
    guard deadline < timer?.at ?? .max else { return }
    if let timer { loop.cancel(timer.id) }
    timer = (loop.schedule(at: deadline, self), deadline)
  }

  /// Closes the link; the peer sees its end.
  func close() { finish(nil) }

  func awaitClose(_ completion: Completion<Void>) {
    if end != nil { return completion.resume(.success(())) }
    closeWaiters.append(completion)
    completion.whenCancelled = { [unowned self] in
      closeWaiters.removeAll { $0 === completion }
    }
  }

  private var hasClosedByItself = false
  private var endOfValues: AttoError? { hasClosedByItself ? nil : end }

  /// Ends the connection: everything that waits is told, each once.
  private func finish(_ reason: AttoError?) {
    guard end == nil else { return }
    hasClosedByItself = reason == nil
    end = reason ?? .disconnected(peer: peerName)
    if let watch { loop.unwatch(watch) }
    watch = nil
    if let timer { loop.cancel(timer.id) }
    timer = nil
    link.observer = nil
    link.close()
    session.linkEnded()
    let (queues, writers, confirmations) = (self.queues, self.writers, self.confirmations)
    self.queues = []
    self.writers = []
    self.confirmations = []
    for queue in queues { queue.finish(endOfValues) }
    let error = end ?? .disconnected(peer: peerName)
    for writer in writers { writer.resume(.failure(error)) }
    securityFails(error)
    for entry in confirmations { entry.completion.resume(.failure(error)) }
    server?.ended(self)
    let closeWaiters = self.closeWaiters
    self.closeWaiters = []
    for waiter in closeWaiters { waiter.resume(.success(())) }
  }
}

extension ConnectionCore: ReadinessHandler {
  func ready(_ readiness: Readiness) {
    if readiness.contains(.writable) {
      // A link that is being encrypted takes nothing until it is.
      if !securityWaiters.isEmpty { securityChanged() }
      flush()
    }
    // A hang-up may show without anything to receive: only receiving tells why.
    if !readiness.isDisjoint(with: [.hangup, .error]) { isDraining = true }
    if !readiness.isDisjoint(with: [.readable, .hangup, .error]) { isReadable = true }
    read()
  }
}

extension ConnectionCore: LinkObserver {
  /// Links call this from within calls; so what it asks for is done in a call of its own.
  func linkReady(_ readiness: LinkReadiness) {
    if readiness.contains(.securityChanged) { securityChanged() }
    if !readiness.isDisjoint(with: [.readable, .closed]) { isReadable = true }
    if let watch {
      var next: Readiness = .readable
      if readiness.contains(.writable) { next.insert(.writable) }
      return loop.reschedule(watch, next)
    }
    guard reader == nil, end == nil else { return }
    let reader = Resumption(self)
    self.reader = reader
    loop.schedule(at: loop.now, reader)
  }

  /// Goes on after a link without a descriptor has become ready.
  fileprivate func resume() {
    reader = nil
    flush()
    read()
  }
}

extension ConnectionCore: TimerHandler {
  func timerFired(_ id: TimerID) {
    timer = nil
    guard end == nil else { return }
    link.advance(to: now)
    if case .failed(let failure) = session.advance(to: now) { finish(.bearer(failure)) }
    settle()
  }
}

/// Calls a connection in the next turn of the loop.
private final class Resumption: TimerHandler {
  private weak var core: ConnectionCore?
  init(_ core: ConnectionCore) { self.core = core }
  func timerFired(_ id: TimerID) { core?.resume() }
}
