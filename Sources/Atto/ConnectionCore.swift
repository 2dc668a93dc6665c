import ATT
import EventLoop
import GATT
import Links
import Radio

/// A session on a link, driven by a loop: everything of a connection that happens on the loop's
/// thread.
///
/// # Theory
///
/// When the link is readable, PDUs are received until there is none left, or the share of this
/// turn is used up. Each goes through the session and what that wants sent goes to the link at
/// once, all in one call from the readiness of the descriptor to the response on its way. The
/// system call is tried first; only when the link has no room does anything wait for its
/// readiness, and until then nothing more is tried.
///
/// Notifications and commands that code on the loop sends one after another are gathered, up to
/// ``gatheredPDUs`` or the outbox' limit, until the loop's turn ends at the latest, and go with one
/// system call: the peer is woken once, and a sender on the same processor is not interrupted for
/// each. Whatever else is sent takes them along; the order is that of the calls.
///
/// Back-pressure: while the link takes no more and the outbox is at its limit, nothing is read,
/// so that a peer that does not read cannot make this end collect responses. While a consumer
/// of values has all it may hold, nothing is read either, unless a response or confirmation is
/// awaited, which may stand behind more values.
///
/// Once the peer has gone, what it has left in the link is read to its end without regard to
/// who takes it: only there does the link tell that, and why, it has ended.
///
/// A socket is watched level-triggered. One that asks or answers has one PDU at a time, so after
/// a request, a response or a confirmation nothing more is tried for: the next poll tells if
/// there is more, and most often a system call is saved. Commands and notifications come in
/// bursts: after those, PDUs are received until there is none. While nothing may be read, the
/// descriptor is not watched for it; for room it is watched only while something waits for
/// room. While the link is to be made more secure, the watch is edge-triggered, because then a
/// link may be writable before it is secure.
///
/// Other links tell once when they become ready (`isReadable` remembers it), and are read until
/// there is nothing.
final class ConnectionCore {
  let loop: Loop
  let session: Session
  let peerName: String
  let link: any Link
  let options: ConnectionOptions
  private let buffer: ReceiveBuffer
  private let holdsBackPeer: Bool
  @exclusivity(unchecked) private var watch: WatchID?
  /// The link, if it is a socket and nothing but that, of which the kernel knows what is ready.
  private let socket: SocketLink?
  private var isSocket: Bool { socket != nil }
  /// What the descriptor is watched for.
  @exclusivity(unchecked) private var interest: Readiness
  @exclusivity(unchecked) private var trigger: Trigger
  /// The link had no room for the first PDU of the outbox.
  @exclusivity(unchecked) private var isBlocked = false
  @exclusivity(unchecked) private var timer: (id: TimerID, at: Int64)?
  @exclusivity(unchecked) private var isReadable = true
  @exclusivity(unchecked) private var isReading = false
  @exclusivity(unchecked) private var isFlushing = false
  /// Whether what was gathered goes at the end of this turn.
  @exclusivity(unchecked) private var isGathering = false
  /// Whether the peer has gone: what it has left is read to the end.
  @exclusivity(unchecked) private var isDraining = false
  /// Why nothing can be sent any more.
  @exclusivity(unchecked) private var sendFailure: Ending?
  @exclusivity(unchecked) private var reader: Resumption?
  /// Whether somebody on the loop wants the peer held back.
  @exclusivity(unchecked) private var isHeldBack = false

  @exclusivity(unchecked) private(set) var queues: [ValueQueue] = []
  @exclusivity(unchecked) var unwaited = UnwaitedCalls()
  /// Called with each value, without a copy.
  @exclusivity(unchecked) var valueObserver: ((AttributeHandle, RawSpan) -> Void)?
  @exclusivity(unchecked) private var writers: [Completion<Void>] = []
  @exclusivity(unchecked) private var confirmations:
    [(id: TransactionID, completion: Completion<Void>)] = []
  @exclusivity(unchecked) private var closeWaiters: [Completion<Void>] = []
  /// Those who wait for the link to reach a level.
  @exclusivity(unchecked) var securityWaiters:
    [(level: SecurityLevel, completion: Completion<Void>, timer: OneTimer)] = []
  {
    didSet { watchForWhatIsWanted() }
  }
  /// The raise that the peer's refusals have led to, and its end.
  @exclusivity(unchecked) var demand: (level: SecurityLevel, timer: OneTimer)? {
    didSet { watchForWhatIsWanted() }
  }
  /// Why the link is not raised, while those who wait for that are told.
  @exclusivity(unchecked) var obstacle: SecurityObstacle?
  /// What the radio said when the connection was made; nil without an agent.
  var agentCapability: PairingCapability?
  @exclusivity(unchecked) var knownLevel = SecurityLevel.low
  /// Whether the link was being raised when it ended.
  @exclusivity(unchecked) private(set) var hasEndedRaising = false
  /// The server behind the connection.
  private let server: ServerCore?
  /// The ends of the link, where they have addresses.
  @exclusivity(unchecked) private(set) var addresses: LinkAddresses?
  /// What of its client the server has tried to remember, and the wish to try again.
  @exclusivity(unchecked) private var rememberedRevision: UInt32 = 0
  @exclusivity(unchecked) private var remembering: OneTimer?
  @exclusivity(unchecked) private var ending: Ending?
  @exclusivity(unchecked) private(set) var counters = ConnectionCounters()

  /// PDUs that are gathered before they are sent.
  static let gatheredPDUs = 64
  /// PDUs of one turn, after which other connections have theirs.
  static let pdusPerTurn = 64
  /// How long what a client has changed may wait to be remembered while nobody is told of it.
  static let rememberingTime: Duration = .milliseconds(100)

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
    socket = link as? SocketLink
    trigger = socket == nil ? .edge : .level
    interest = socket == nil ? [.readable, .writable] : .readable
    holdsBackPeer = socket?.carrier != .l2cap
    configuration.linkMayBeReused = socket?.mayBeReused ?? false
    session = Session(configuration, server: server?.server, client: client)
    rememberedRevision = client?.recordRevision ?? 0
    session.asksForSecurity = options.securityOnDemand ?? .low > .low
    knownLevel = link.security.level
    // L2CAP wants room for the kernel's 672 octets, and one octet more tells a longer PDU.
    buffer = ReceiveBuffer(capacity: max(672, options.receiveMTU) + 1)
  }

  /// Begins to listen to the link.
  func open() throws(AttoError) {
    if let size = options.sendBuffer {
      do throws(LinkError) {
        try link.setSendBuffer(Int32(clamping: size))
      } catch {
        throw .link(error)
      }
    }
    if let descriptor = link.descriptor {
      do {
        watch = try loop.watch(descriptor, trigger: trigger, self)
      } catch {
        throw .loop(error)
      }
    }
    // A weak reference makes every later count of references slower; a socket needs none.
    if !isSocket { link.observer = self }
    if server?.memory != nil { refreshAddresses() }
    arm()
    if watch == nil { read() }
  }

  var now: Instant { Instant(nanoseconds: loop.now) }
  var queueLimit: Int { options.valueLimit }

  // MARK: Receiving

  private var mayRead: Bool {
    guard !hasEnded else { return false }
    if isDraining { return true }
    guard !session.isCongested else { return false }
    // Unread PDUs hold back a peer, but not on LE's fixed channel: there the kernel drops what
    // its buffer has no room for, and nobody counts it. So they are taken, and the queue counts.
    if !holdsBackPeer { return true }
    return !(isHeldBack || queues.contains(where: \.isFull)) || session.operationCount > 0
      || session.deadline != nil
  }

  private func read() {
    guard !isReading else { return }
    isReading = true
    defer {
      isReading = false
      watchForWhatIsWanted()
    }
    var share = Self.pdusPerTurn
    // The loop's clock stands still for as long as its turn lasts.
    let now = now
    while isReadable, mayRead {
      guard share > 0 else { return continueLater() }
      share -= 1
      do throws(LinkError) {
        switch try buffer.receive(from: link) {
        case .pdu:
          let endsTurn = buffer.withPDU { receive($0, at: now) }
          if endsTurn, trigger == .level, !isDraining { isReadable = false }
          settle()
        case .wouldBlock:
          isReadable = false
          if let sendFailure { finish(sendFailure.error) } else { arm() }
        case .closed: finish(.disconnected(peer: peerName))
        }
      } catch {
        finish(.link(error))
      }
    }
  }

  /// Tells the loop what the descriptor is watched for, if that has changed.
  func watchForWhatIsWanted() {
    guard isSocket, let watch else { return }
    var wanted: Readiness = mayRead ? .readable : []
    if isBlocked || isRaising { wanted.insert(.writable) }
    let kind: Trigger = isRaising ? .edge : .level
    guard wanted != interest || kind != trigger else { return }
    interest = wanted
    trigger = kind
    loop.setInterest(watch, wanted, trigger: kind)
  }

  private func continueLater() {
    if let watch { return loop.reschedule(watch, .readable) }
    let reader = Resumption(self)
    self.reader = reader
    loop.schedule(at: loop.now, reader)
  }

  /// Takes a PDU. True if the peer has to wait before it has reason to send another.
  private func receive(_ pdu: RawSpan, at now: Instant) -> Bool {
    counters.received += 1
    monitor(.received, pdu)
    switch session.receive(pdu, at: now) {
    case .none:
      // A request, a response, or a command.
      return pdu.byteCount > 0 && !Opcode(pdu.octet(at: 0)).isCommand
    case .notification:
      if let pdu = HandleAndValue(pdu) { deliver(pdu.handle, pdu.value, isIndication: false) }
      return false
    case .notifications:
      deliverAll(PDU(pdu))
      return false
    case .indication:
      if let pdu = HandleAndValue(pdu) { deliver(pdu.handle, pdu.value, isIndication: true) }
      session.confirm()
    case .confirmed(let id): confirmed(id)
    case .securityWanted: securityWanted()
    case .failed(let failure): finish(.bearer(failure))
    }
    return true
  }

  private func deliverAll(_ pdu: borrowing PDU) {
    switch pdu {
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
    // By index, since `for` would keep the list, and count a reference to it, meanwhile. Nobody is
    // told of a value from within `offer`, so that the list stays as it is.
    var index = 0
    while index < queues.count {
      let queue = queues[index]
      index += 1
      guard queue.handle == nil || queue.handle == handle else { continue }
      queue.offer(handle, value, isIndication: isIndication, isLimited: !isDraining)
      isTaken = true
    }
    if !isTaken { counters.unclaimedValues += 1 }
  }

  // MARK: Sending

  /// After anything that may have changed the session: sends what it wants sent, sees to the
  /// timer, and tells the server's owner what has happened.
  ///
  /// Most PDUs leave most of it undone, so each step is looked at before it is taken.
  func settle() {
    if clientHasChanged { remember() }
    if isBlocked {
      // The link tells when it has room; until then it would only refuse again.
      if !writers.isEmpty, session.hasRoom { wakeWriters() }
    } else if session.hasOutput || !writers.isEmpty {
      flush()
    }
    arm()
    if isBlocked { watchForWhatIsWanted() }
    if let server, server.hasNews { server.settle() }
  }

  /// After a notification or a command that code on the loop wants sent, which more may follow.
  func settleLater() {
    guard isSocket, options.monitor == nil, session.outputCount < Self.gatheredPDUs,
      !session.isCongested
    else { return settle() }
    guard !isGathering else { return }
    isGathering = true
    loop.atEndOfTurn(self)
  }

  /// Whether the server has not remembered yet what its client has changed.
  private var clientHasChanged: Bool {
    guard server != nil, let client = session.client else { return false }
    return client.hasChanged(since: rememberedRevision)
  }

  /// Has the server remember what its client has changed: before a response goes out that tells
  /// the client so. What nobody is told of waits a little for more of its kind, so that a client
  /// cannot keep the disk busy with commands.
  private func remember(isLast: Bool = false) {
    guard clientHasChanged, let server, let client = session.client else { return }
    guard server.memory != nil else { return rememberedRevision = client.recordRevision }
    guard isLast || !session.bearer.outbox.isEmpty else {
      if remembering == nil {
        remembering = OneTimer(after: Self.rememberingTime, on: loop) { [weak self] in
          self?.remembering = nil
          self?.remember(isLast: true)
        }
      }
      return
    }
    remembering?.cancel()
    remembering = nil
    server.remember(client, of: self)
    rememberedRevision = client.recordRevision
  }

  /// The kernel may have learnt since who the peer is.
  func refreshAddresses() {
    if let known = (link as? any AddressedLink)?.addresses { addresses = known }
  }

  func tellServiceChanged() {
    session.pump(at: now)
    settle()
  }

  private func flush() {
    guard !hasEnded, !isFlushing else { return }
    guard sendFailure == nil else { return session.bearer.outbox.removeAll() }
    isFlushing = true
    defer { isFlushing = false }
    do throws(LinkError) {
      if options.monitor != nil {
        try flushMonitored()
      } else if let socket, session.outputCount > 1 {
        isBlocked = try !session.transmit(together: { (entries) throws(LinkError) in
          let count = try socket.send(together: entries)
          counters.sent += UInt64(count)
          return count
        })
      } else if session.hasOutput {
        isBlocked = try !session.transmit { (pdu) throws(LinkError) in
          guard try link.send(pdu) == .sent else { return false }
          counters.sent += 1
          return true
        }
      }
    } catch {
      return sendingFailed(.link(error))
    }
    if !writers.isEmpty, session.hasRoom { wakeWriters() }
  }

  /// The monitor may do anything, so it is told of a PDU when that has left the outbox.
  private func flushMonitored() throws(LinkError) {
    while session.hasOutput {
      let pdu = session.bearer.outbox.withFirst { $0.owned } ?? []
      isBlocked = try link.send(pdu.span.bytes) == .wouldBlock
      guard !isBlocked else { return }
      session.bearer.outbox.removeFirst()
      counters.sent += 1
      monitor(.sent, pdu.span.bytes)
    }
  }

  /// The link takes nothing more. The connection ends as soon as what the peer has said before
  /// is read, with what the link says of its end; if that is nothing, with this error.
  private func sendingFailed(_ error: AttoError) {
    sendFailure = Ending(error)
    isBlocked = false
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
    guard !session.hasRoom else {
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
    // Reading may have paused for values that nobody takes. Otherwise the next poll tells.
    if isReadable || !interest.contains(.readable) { read() }
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
    if hasEnded { return queue.finish(endOfValues) }
    // Until the queue is finished, which is before this ends.
    queue.whenDrained = { [unowned self] in read() }
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
    guard !hasEnded else { return }
    var deadline = session.deadline?.nanoseconds ?? .max
    if !isSocket, let moment = link.deadline?.nanoseconds { deadline = min(deadline, moment) }
    guard deadline < timer?.at ?? .max else { return }
    if let timer { loop.cancel(timer.id) }
    timer = (loop.schedule(at: deadline, self), deadline)
  }

  /// Closes the link; the peer sees its end, behind what was gathered.
  func close() {
    if isGathering { flush() }
    finish(nil)
  }

  func awaitClose(_ completion: Completion<Void>) {
    if hasEnded { return completion.resume(.success(())) }
    closeWaiters.append(completion)
    completion.whenCancelled = { [unowned self] in
      closeWaiters.removeAll { $0 === completion }
    }
  }

  /// Whether the connection has ended, and why.
  var hasEnded: Bool { ending != nil }
  var end: AttoError? { ending?.error }
  private var endOfValues: AttoError? { ending?.isByItself == true ? nil : end }

  /// Ends the connection: everything that waits is told, each once.
  private func finish(_ reason: AttoError?) {
    guard !hasEnded else { return }
    hasEndedRaising = isRaising
    demand?.timer.cancel()
    demand = nil
    let error = reason ?? .disconnected(peer: peerName)
    ending = Ending(error, isByItself: reason == nil)
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
    remember(isLast: true)
    remembering?.cancel()
    remembering = nil
    for queue in queues { queue.finish(endOfValues) }
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
      if isRaising { securityChanged() }
      flush()
      // Nothing was read while there was no room. Who sends without end fills it before the next
      // poll, so that this is when the peer is heard.
      if !interest.contains(.readable) { isReadable = true }
    }
    // A hang-up may show without anything to receive: only receiving tells why.
    if !readiness.isDisjoint(with: [.hangup, .error]) { isDraining = true }
    if !readiness.isDisjoint(with: [.readable, .hangup, .error]) { isReadable = true }
    read()
  }
}

extension ConnectionCore: TurnHandler {
  func turnEnds() {
    isGathering = false
    // On a link without room, what was gathered waits for it with the rest.
    if session.hasOutput, !isBlocked { settle() }
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
    guard reader == nil, !hasEnded else { return }
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
    guard !hasEnded else { return }
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

/// An end and its reason, in an object: whether there is one is asked several times for each
/// PDU, and the reason itself has so many forms that the question would copy it first.
private final class Ending {
  let error: AttoError
  /// Whether this end wanted it.
  let isByItself: Bool

  init(_ error: AttoError, isByItself: Bool = false) {
    self.error = error
    self.isByItself = isByItself
  }
}
