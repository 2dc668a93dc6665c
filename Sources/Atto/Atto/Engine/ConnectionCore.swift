import AttoATT
import AttoEventLoop
import AttoGATT
import AttoLinks
import AttoRadio

/// A connection to a peer on a loop: its unenhanced bearer, and what the bearers of the connection
/// share.
///
/// # Theory
/// ``ConnectionBearers`` has the enhanced bearers, ``SecurityRaise`` raises the link's security, and
/// ``ClientRecorder`` stores what a bonded client configures. This class connects them, and ends
/// everything when the unenhanced bearer ends, whose link is the connection's.
final class ConnectionCore: BearerCore {
  /// The acceptance of the peer's enhanced bearers, which ends when it is released.
  var bearerAcceptance: AnyObject?
  /// Whether procedures may use bearers that the peer opens: nothing else has been sent yet.
  var carriesPeersBearers = false
  /// Why there are no enhanced bearers.
  var bearerObstacle: AttoError.BearerObstacle?
  /// Callers that wait for room in the outboxes.
  private let writers = WaiterList<Void, Void, AttoError>()
  private let closeWaiters = WaiterList<Void, Void, AttoError>()
  @exclusivity(unchecked) var unwaited = UnwaitedCalls()
  /// The ends of the link, where they have addresses.
  @exclusivity(unchecked) private(set) var addresses: LinkAddresses?
  /// The client's process, if a new client may take its place.
  var process: PeerProcess?
  var idleTimer: LoopTimer?

  init(
    _ link: any Link, on loop: Loop, options: ConnectionOptions, server: ServerCore?,
    client: ServerClient?
  ) {
    let socket = link as? SocketLink
    var configuration = options.bearer
    configuration.linkMayBeReused = socket?.mayBeReused ?? false
    let session = Session(configuration, server: server?.server, client: client)
    session.asksForSecurity = options.securityOnDemand ?? .low > .low
    super.init(
      link, socket, session, on: loop, options: options, monitor: options.monitor(of: link),
      server: server, values: ValueConsumers(), raising: SecurityRaise(link, options),
      peerName: link.peerName, holdsBackPeer: socket?.carrier != .l2cap,
      // L2CAP needs room for the kernel's 672 octets, and one octet more reveals a longer PDU.
      capacity: max(672, options.receiveMTU) + 1)
    raising.core = self
  }

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

  override func memoryAnswered() {
    super.memoryAnswered()
    if !hasEnded { bearers?.memoryAnswered() }
  }

  // MARK: Room

  /// Whether commands and values have room on all bearers.
  private var hasRoom: Bool { bearers?.haveRoom ?? session.hasRoom }

  override func resumeWriters() -> Bool {
    if hasRoom { writers.resumeAll(.success(())) }
    return !writers.isEmpty
  }

  /// Waits until commands and notifications have room.
  func awaitRoom(_ waiter: Waiter<Void, AttoError>) {
    if let end { return waiter.resume(.failure(end)) }
    if hasRoom { return waiter.resume(.success(())) }
    writers.append(waiter)
    awaitsRoom = true
  }

  /// Sends nothing while a change that responses acknowledge is being stored.
  func hold(_ isHeld: Bool) {
    sender.isHeld = isHeld
    bearers?.enhanced.forEach { $0.sender.isHeld = isHeld }
  }

  // MARK: Values

  func add(_ queue: ValueQueue) {
    if hasEnded { return queue.finish(endOfValues) }
    // Until the queue is finished, which is before this ends.
    queue.whenDrained = { [unowned self] in readAll() }
    values.add(queue)
  }

  func remove(_ queue: ValueQueue) {
    values.remove(queue)
    queue.finish(nil)
    readAll()
  }

  /// Reads from the links of all bearers.
  private func readAll() {
    read()
    bearers?.enhanced.forEach { $0.read() }
  }

  func holdBack(_ isHeld: Bool) {
    isHeldBack = isHeld
    bearers?.enhanced.forEach { $0.isHeldBack = isHeld }
    if !isHeld { readAll() }
  }

  // MARK: The end

  /// Closes the link, after what was gathered has been sent.
  func close() {
    if isGathering { flush() }
    finish(.closed)
  }

  func awaitClose(_ waiter: Waiter<Void, AttoError>) {
    if hasEnded { return waiter.resume(.success(())) }
    closeWaiters.append(waiter)
  }

  /// Why consumers of values get no more: nil if this end closed the connection.
  private var endOfValues: AttoError? { end == .closed ? nil : end }

  /// Ends the connection and all its bearers.
  override func finish(_ error: AttoError) {
    guard !hasEnded else { return }
    idleTimer?.cancel()
    bearerAcceptance = nil
    super.finish(error)
    raising.finish()
    sender.noteEnd(error)
    if let bearers { bearers.finish(error) } else { session.linkEnded() }
    bearers = nil
    recorder?.finish()
    values.finish(endOfValues)
    writers.resumeAll(.failure(error))
    _ = takeBacklog()
    raising.waiters.resumeAll(.failure(error))
    failConfirmations(error)
    server?.ended(self)
    if let client = session.client { server?.clientHasRoom(client.id) }
    closeWaiters.resumeAll(.success(()))
  }
}
