import AttoATT
import AttoEventLoop
import AttoGATT
import AttoLinks
import AttoRadio

/// A bearer on a link, driven by a loop: what happens to the PDUs of one session.
///
/// # Theory
/// A PDU that arrives goes through the session, and the answer goes to the link, in one call from
/// the readiness of the descriptor. ``LinkSender`` sends, ``LinkWatch`` decides what the descriptor
/// is watched for, and ``ValueConsumers`` hold values.
///
/// A connection has one unenhanced bearer, which is the ``ConnectionCore`` itself, so that a connection
/// with one bearer is one object, and may have enhanced ones, each an ``EnhancedBearerCore``. What they
/// share is made for the connection, and each has a reference to it. The few functions that differ are
/// overridden.
class BearerCore {
  final let loop: Loop
  final let session: Session
  final let peerName: String
  final let link: any Link
  final let options: ConnectionOptions
  final let sender: LinkSender
  final let values: ValueConsumers
  final let raising: SecurityRaise
  /// All bearers of the connection; nil if it has had no enhanced ones.
  @exclusivity(unchecked) final var bearers: ConnectionBearers?
  final let buffer: ReceiveBuffer
  /// Whether unread PDUs hold back the peer.
  final let holdsBackPeer: Bool
  /// Whether ATT_MTU is that of the bearer's channel.
  final let hasChannelMTU: Bool
  @exclusivity(unchecked) final var watch: LinkWatch
  /// Set by the server if it has a memory.
  @exclusivity(unchecked) final var recorder: ClientRecorder?
  final let server: ServerCore?

  // Receiving.
  @exclusivity(unchecked) final var isReadable = true
  @exclusivity(unchecked) final var isReading = false
  /// The peer has gone: what it has left is read to the end.
  @exclusivity(unchecked) final var isDraining = false
  /// Code on the loop wants the peer held back.
  @exclusivity(unchecked) final var isHeldBack = false
  /// Nothing is read until the server's memory has answered.
  @exclusivity(unchecked) final private(set) var isAwaitingMemory = false
  @exclusivity(unchecked) final var receivedCount: UInt64 = 0
  /// When a PDU was received last, or else when the bearer was made.
  @exclusivity(unchecked) final var lastHeard: Instant
  /// Goes on reading in the next turn, on a link without a descriptor.
  @exclusivity(unchecked) final var reader: Resumption?

  /// PDUs were gathered that are sent at the end of this turn.
  @exclusivity(unchecked) final var isGathering = false
  /// Why nothing can be sent any more.
  @exclusivity(unchecked) final var sendFailure: Ending?
  /// Something waits for room; it may have given up meanwhile.
  @exclusivity(unchecked) final var awaitsRoom = false
  /// The values that wait for room on this bearer, because other clients have taken them; nil if none.
  @exclusivity(unchecked) final var backlog: ValueBacklog?
  @exclusivity(unchecked) final var isNotingRoom = false
  /// What is called when indications are confirmed.
  @exclusivity(unchecked) private final var confirmations:
    [(id: TransactionID, body: (AttoError?) -> Void)] = []
  @exclusivity(unchecked) private final var timer: (id: TimerID, at: Int64)?
  @exclusivity(unchecked) private final var ending: Ending?

  /// PDUs that are gathered before they are sent.
  static let gatheredPDUs = 64
  /// PDUs of one turn, after which other connections have theirs.
  static let pdusPerTurn = 64

  /// - Parameters:
  ///   - socket: the link, if it is a socket.
  ///   - capacity: of the buffer that PDUs are received in.
  init(
    _ link: any Link, _ socket: SocketLink?, _ session: Session, on loop: Loop,
    options: ConnectionOptions, monitor: (@Sendable (MonitoredEvent) -> Void)?, server: ServerCore?,
    values: ValueConsumers, raising: SecurityRaise, peerName: String, holdsBackPeer: Bool,
    capacity: Int
  ) {
    self.link = link
    self.session = session
    self.loop = loop
    self.options = options
    self.server = server
    self.values = values
    self.raising = raising
    self.peerName = peerName
    self.holdsBackPeer = holdsBackPeer
    hasChannelMTU = session.bearer.configuration.channel != .fixed
    lastHeard = Instant(nanoseconds: loop.now)
    sender = LinkSender(session, to: link, socket, monitor: monitor, on: loop)
    watch = LinkWatch(isSocket: socket != nil, on: loop)
    buffer = ReceiveBuffer(capacity: capacity)
  }

  /// Begins to listen to the link.
  final func open() throws(AttoError) {
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

  final var now: Instant { Instant(nanoseconds: loop.now) }

  /// Has the descriptor watched for what the bearer waits for.
  final func adjustWatch() {
    guard watch.isAdjustable else { return }
    // A hang-up is reported in each poll unless the watch is edge-triggered.
    watch.adjust(
      reads: mayRead, writes: sender.isBlocked || raising.isActive,
      isEdge: raising.isActive || isAwaitingMemory)
  }

  /// Reads nothing until ``memoryAnswered()``.
  final func awaitMemory() {
    isAwaitingMemory = true
    adjustWatch()
  }

  func memoryAnswered() {
    isAwaitingMemory = false
    guard !hasEnded else { return }
    isReadable = true
    settle()
    read()
  }

  // MARK: What differs

  /// Sends what the link has room for.
  func flush() { send() }

  /// The bearer has room: resumes callers that wait for it. True if some still wait.
  func resumeWriters() -> Bool { false }

  /// Ends the bearer. What overrides this does it once, and gives the reason to everything that waits.
  func finish(_ error: AttoError) {
    ending = Ending(error)
    watch.end()
    if let timer { loop.cancel(timer.id) }
    timer = nil
    link.observer = nil
    link.close()
  }

  // MARK: Indications

  /// Indicates a value. `body` is called once, when the value is confirmed or with the error.
  final func sendIndication(
    _ handle: AttributeHandle, _ value: [UInt8], _ body: @escaping (AttoError?) -> Void
  ) -> TransactionID? {
    defer {
      settle()
      read()
    }
    do throws(ProcedureError) {
      let id = try session.indicate(handle, value, at: now)
      confirmations.append((id, body))
      return id
    } catch {
      body(AttoError(error, end: end))
      return nil
    }
  }

  /// Forgets an indication, which is not sent if it still waits for its turn. False if it was
  /// confirmed or forgotten before.
  final func forget(indication id: TransactionID) -> Bool {
    guard let index = confirmations.firstIndex(where: { $0.id == id }) else { return false }
    confirmations.remove(at: index)
    session.cancel(indication: id)
    return true
  }

  final func confirmed(_ id: TransactionID) {
    guard let index = confirmations.firstIndex(where: { $0.id == id }) else { return }
    confirmations.remove(at: index).body(nil)
  }

  /// Indications that wait for their confirmations get none.
  final func failConfirmations(_ error: AttoError) {
    let confirmations = confirmations
    self.confirmations = []
    for entry in confirmations { entry.body(error) }
  }

  // MARK: Time and the end

  /// Sets the timer to the next deadline. A timer that is too early stays: most deadlines only
  /// move away, and it costs one look at the clock.
  final func arm() {
    guard !hasEnded else { return }
    var deadline = session.deadline?.nanoseconds ?? .max
    if !watch.isSocket, let moment = link.deadline?.nanoseconds { deadline = min(deadline, moment) }
    guard deadline < timer?.at ?? .max else { return }
    if let timer { loop.cancel(timer.id) }
    timer = (loop.schedule(at: deadline, self), deadline)
  }

  final var hasEnded: Bool { ending != nil }
  /// Why the bearer has ended.
  final var end: AttoError? { ending?.error }
}

extension BearerCore: TimerHandler {
  func timerFired(_ id: TimerID) {
    timer = nil
    guard !hasEnded else { return }
    link.advance(to: now)
    if case .failed(let failure) = session.advance(to: now) { finish(.bearer(failure)) }
    settle()
  }
}

/// The end of a bearer and its reason. An object, because it is checked several times for each
/// PDU whether there is one, and the reason is an enum that the check would copy.
final class Ending {
  let error: AttoError

  init(_ error: AttoError) { self.error = error }
}
