import AttoATT
import AttoEventLoop
import AttoGATT
import AttoLinks
import AttoRadio

/// A session on a link, driven by a loop: everything of a connection that happens on the loop's
/// thread.
///
/// # Theory
/// A PDU that arrives goes through the session, and the answer goes to the link, in one call from
/// the readiness of the descriptor. ``LinkSender`` sends, ``LinkWatch`` decides what the descriptor
/// is watched for, ``ValueConsumers`` hold values, ``SecurityRaise`` raises the link's security,
/// and ``ClientRecorder`` stores what a bonded client configures. This class connects them, and
/// ends everything when the connection ends.
///
/// An enhanced bearer has a core of its own, with its link, session and sender, beside the core of
/// the unenhanced bearer (`main`), which has everything else; see ``ConnectionBearers``.
final class ConnectionCore {
  let loop: Loop
  let session: Session
  let peerName: String
  let link: any Link
  let options: ConnectionOptions
  let sender: LinkSender
  let values: ValueConsumers
  let raising: SecurityRaise
  /// The core of the unenhanced bearer; nil if this is it.
  unowned let main: ConnectionCore?
  /// The enhanced bearers of the connection; nil if it has had none.
  @exclusivity(unchecked) var bearers: ConnectionBearers?
  /// The acceptance of the peer's enhanced bearers, which ends when it is released.
  var bearerAcceptance: AnyObject?
  /// Whether procedures may use bearers that the peer opens: nothing else has been sent yet.
  var carriesPeersBearers = false
  /// Why there are no enhanced bearers.
  var bearerObstacle: AttoError.BearerObstacle?
  let buffer: ReceiveBuffer
  /// Whether unread PDUs hold back the peer.
  let holdsBackPeer: Bool
  @exclusivity(unchecked) var watch: LinkWatch
  /// Set by the server if it has a memory.
  @exclusivity(unchecked) var recorder: ClientRecorder?
  let server: ServerCore?

  // Receiving.
  @exclusivity(unchecked) var isReadable = true
  @exclusivity(unchecked) var isReading = false
  /// The peer has gone: what it has left is read to the end.
  @exclusivity(unchecked) var isDraining = false
  /// Code on the loop wants the peer held back.
  @exclusivity(unchecked) var isHeldBack = false
  /// Nothing is read until the server's memory has answered.
  @exclusivity(unchecked) private(set) var isAwaitingMemory = false
  @exclusivity(unchecked) var receivedCount: UInt64 = 0
  /// When a PDU was received last, or else when the connection was made.
  @exclusivity(unchecked) var lastHeard: Instant
  /// Goes on reading in the next turn, on a link without a descriptor.
  @exclusivity(unchecked) var reader: Resumption?

  /// PDUs were gathered that are sent at the end of this turn.
  @exclusivity(unchecked) var isGathering = false
  /// Why nothing can be sent any more.
  @exclusivity(unchecked) var sendFailure: Ending?
  /// Something waits for room; it may have given up meanwhile.
  @exclusivity(unchecked) var awaitsRoom = false
  /// The values that wait for room on this bearer, because other clients have taken them; nil if none.
  @exclusivity(unchecked) var backlog: ValueBacklog?
  @exclusivity(unchecked) var isNotingRoom = false
  /// Callers that wait for room in the outbox.
  let writers = WaiterList<Void, Void, AttoError>()
  /// What is called when indications are confirmed.
  @exclusivity(unchecked) var confirmations: [(id: TransactionID, body: (AttoError?) -> Void)] = []
  private let closeWaiters = WaiterList<Void, Void, AttoError>()
  @exclusivity(unchecked) private var timer: (id: TimerID, at: Int64)?
  @exclusivity(unchecked) var unwaited = UnwaitedCalls()
  /// The ends of the link, where they have addresses.
  @exclusivity(unchecked) private(set) var addresses: LinkAddresses?
  @exclusivity(unchecked) private var ending: Ending?
  /// The client's process, if a new client may take its place.
  var process: PeerProcess?
  var idleTimer: LoopTimer?

  /// PDUs that are gathered before they are sent.
  static let gatheredPDUs = 64
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
    main = nil
    values = ValueConsumers()
    lastHeard = Instant(nanoseconds: loop.now)
    peerName = link.peerName
    var configuration = options.bearer
    let socket = link as? SocketLink
    holdsBackPeer = socket?.carrier != .l2cap
    configuration.linkMayBeReused = socket?.mayBeReused ?? false
    session = Session(configuration, server: server?.server, client: client)
    session.asksForSecurity = options.securityOnDemand ?? .low > .low
    sender = LinkSender(session, to: link, socket, monitor: options.monitor(of: link), on: loop)
    watch = LinkWatch(isSocket: socket != nil, on: loop)
    raising = SecurityRaise(link, options)
    // L2CAP needs room for the kernel's 672 octets, and one octet more reveals a longer PDU.
    buffer = ReceiveBuffer(capacity: max(672, options.receiveMTU) + 1)
    raising.core = self
  }

  /// The core of an enhanced bearer.
  init(_ link: any Link, _ session: Session, beside main: ConnectionCore) {
    self.link = link
    self.session = session
    self.main = main
    loop = main.loop
    options = main.options
    server = main.server
    recorder = main.recorder
    bearers = main.bearers
    values = main.values
    raising = main.raising
    peerName = main.peerName
    isHeldBack = main.isHeldBack
    lastHeard = Instant(nanoseconds: loop.now)
    let socket = link as? SocketLink
    holdsBackPeer = true
    sender = LinkSender(session, to: link, socket, monitor: main.sender.monitor, on: loop)
    sender.isHeld = main.sender.isHeld
    watch = LinkWatch(isSocket: socket != nil, on: loop)
    buffer = ReceiveBuffer(capacity: options.channelMTU + 1)
  }

  /// Begins to listen to the link.
  func open() throws(AttoError) {
    do throws(LinkError) {
      if let size = options.sendBuffer { try link.setSendBuffer(Int32(clamping: size)) }
      if let phy = options.phy { try link.choosePHY(phy) }
    } catch {
      throw .link(error)
    }
    if let descriptor = link.descriptor {
      do throws(LoopError) {
        try watch.begin(descriptor, self)
      } catch {
        throw .loop(error)
      }
    }
    // A weak reference makes every later count of references slower; a socket needs none.
    if !watch.isSocket { link.observer = self }
    arm()
    if isAwaitingMemory { adjustWatch() }
    if !watch.isActive { read() }
  }

  var now: Instant { Instant(nanoseconds: loop.now) }
  var security: LinkSecurity { link.security }
  var counters: ConnectionCounters {
    let cores = bearers?.all ?? [self]
    return ConnectionCounters(
      sent: cores.reduce(0) { $0 + $1.sender.count },
      received: cores.reduce(0) { $0 + $1.receivedCount }, unclaimedValues: values.unclaimed,
      waitingValues: values.waiting)
  }

  /// The kernel may have learnt since then who the peer is.
  func refreshAddresses() {
    if let known = (link as? any AddressedLink)?.addresses { addresses = known }
  }

  /// Has the descriptor watched for what the connection waits for.
  func adjustWatch() {
    guard watch.isAdjustable else { return }
    // A hang-up is reported in each poll unless the watch is edge-triggered.
    watch.adjust(
      reads: mayRead, writes: sender.isBlocked || raising.isActive,
      isEdge: raising.isActive || isAwaitingMemory)
  }

  /// Reads nothing until ``memoryAnswered()``.
  func awaitMemory() {
    isAwaitingMemory = true
    adjustWatch()
  }

  func memoryAnswered() {
    isAwaitingMemory = false
    guard !hasEnded else { return }
    isReadable = true
    settle()
    read()
    bearers?.memoryAnswered()
  }

  // MARK: Time and the end

  /// Sets the timer to the next deadline. A timer that is too early stays: most deadlines only
  /// move away, and it costs one look at the clock.
  func arm() {
    guard !hasEnded else { return }
    var deadline = session.deadline?.nanoseconds ?? .max
    if !watch.isSocket, let moment = link.deadline?.nanoseconds { deadline = min(deadline, moment) }
    guard deadline < timer?.at ?? .max else { return }
    if let timer { loop.cancel(timer.id) }
    timer = (loop.schedule(at: deadline, self), deadline)
  }

  /// Closes the link, after what was gathered has been sent.
  func close() {
    if isGathering { flush() }
    finish(.closed)
  }

  func awaitClose(_ waiter: Waiter<Void, AttoError>) {
    if hasEnded { return waiter.resume(.success(())) }
    closeWaiters.append(waiter)
  }

  var hasEnded: Bool { ending != nil }
  /// Why the connection has ended.
  var end: AttoError? { ending?.error }
  /// The same for consumers of values: nil if this end closed the connection.
  var endOfValues: AttoError? { end == .closed ? nil : end }

  /// Ends the connection. Everything that waits gets the reason, once.
  func finish(_ error: AttoError) {
    guard !hasEnded else { return }
    ending = Ending(error)
    watch.end()
    if main == nil { raising.finish() }
    if let timer { loop.cancel(timer.id) }
    timer = nil
    idleTimer?.cancel()
    bearerAcceptance = nil
    link.observer = nil
    link.close()
    if main != nil { return finishBearer() }
    sender.noteEnd(error)
    if let bearers { bearers.finish(error) } else { session.linkEnded() }
    bearers = nil
    recorder?.finish()
    values.finish(endOfValues)
    writers.resumeAll(.failure(error))
    endBacklog()
    raising.waiters.resumeAll(.failure(error))
    let confirmations = confirmations
    self.confirmations = []
    for entry in confirmations { entry.body(error) }
    server?.ended(self)
    if let client = session.client { server?.clientHasRoom(client.id) }
    closeWaiters.resumeAll(.success(()))
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

extension ConnectionCore {
  /// Ends an enhanced bearer, whose link is closed; its procedures fail if they have not. The
  /// connection continues.
  private func finishBearer() {
    let bearers = bearers
    self.bearers = nil
    bearers?.remove(self)
    endBacklog()
    let confirmations = confirmations
    self.confirmations = []
    let error = main?.end ?? .enhancedBearer(session.bearer.failure ?? .channelEnded)
    for entry in confirmations { entry.body(error) }
    if let client = main?.session.client { server?.clientHasRoom(client.id) }
    bearers?.settled(nil)
  }
}

/// The end of a connection and its reason. An object, because it is checked several times for each
/// PDU whether there is one, and the reason is an enum that the check would copy.
final class Ending {
  let error: AttoError

  init(_ error: AttoError) { self.error = error }
}
