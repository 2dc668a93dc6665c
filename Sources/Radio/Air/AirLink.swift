public import ATT
import EventLoop
import Glibc
public import Links

/// A link on the virtual air: an ATT channel, and a control socket beside it.
///
/// # Theory
/// The ATT channel is a socket of its own that carries bare PDUs, so a link is as fast as any
/// Unix socket. What a controller and a security manager would do goes over the control socket.
///
/// Security only rises. The one who asks (`raise`) waits; the other grants what was asked for up
/// to its own maximum, and has the new level before it answers; then the asker has it too. While
/// the answer is out, sending would block, as on an L2CAP socket: so a request that follows is
/// seen by a peer that has the level already. If less was granted than asked for, the link ends
/// with an authentication failure, as it does on the kernel's sockets, and if no answer comes in
/// ``answerTime`` too. Where radios have agents, persons are asked in between: see
/// `AirLink+Pairing.swift`.
///
///     open --raise--> raising --raised, enough--> open
///       |                |----raised, too little | time--> ended
///       '--hang-up | disconnect | violation | close--------> ended
///
/// After the end what the peer had sent can still be received.
///
/// A central may have a link timed: then PDUs arrive in both directions when they would on a real
/// one (`AirPacer`). Ending it does not wait: what is under way is delivered
/// before, as far as the socket has room.
///
/// The loop's thread only, like every link; it may be released anywhere.
public final class AirLink: Link {
  /// How long the other end may take to answer (Vol 3, Part H, 3.4 gives pairing 30 s).
  static let answerTime: Duration = .seconds(30)
  /// Shorter in tests.
  var answerTime = AirLink.answerTime

  /// The other radio.
  public let peer: BluetoothAddress
  public let peerName: String
  public weak var observer: (any LinkObserver)?
  /// How well the link is protected now.
  public private(set) var security = LinkSecurity.low
  /// Why the link ended; nil while it stands, and if it ended without a word.
  public private(set) var disconnectReason: DisconnectReason?

  private let data: SocketLink
  let control: AirControlSocket
  let loop: Loop
  let maximum: LinkSecurity
  let isCentral: Bool
  let pairings: AirPairings
  /// What was asked for and not answered yet.
  private(set) var raising: SecurityLevel?
  /// What shall be asked for after that.
  var wanted: SecurityLevel?
  /// What this end was asked for and has not answered yet.
  var response: Response?
  /// The bond that is being made by this end, which asked; 0 before.
  var newKey: UInt64 = 0
  /// Whether this end has asked by naming a bond.
  var hasNamedBond = false
  /// What was done here last.
  var step = PairingStep.nothing
  var question: Task<Void, Never>?
  /// Whether pairing has begun, at either end, and not ended.
  var isPairing = false
  /// Told when a raise of this end has ended; nil: well.
  var onRaised: ((PairingFailure?) -> Void)?
  /// The radio's channels; nil before the link is among its own.
  weak var channels: AirChannels?
  /// Channels that this end has asked for, by the number of the question.
  var asked: [UInt8: AskedChannel] = [:]
  var openChannels: [WeakChannel] = []
  private var answerTimer: OneTimer?
  private var onEnd: (() -> Void)?
  private(set) var hasEnded = false
  /// Set where the link is timed.
  private var pacer: AirPacer?
  /// To be thrown by `receive`, once.
  private var loss: LinkError?

  init(
    data: consuming OwnedDescriptor, control: AirControlSocket, peer: BluetoothAddress,
    name: String, maximum: LinkSecurity, isCentral: Bool, pairings: AirPairings, on loop: Loop,
    onEnd: @escaping () -> Void
  ) {
    self.isCentral = isCentral
    self.peer = peer
    self.pairings = pairings
    pairings.connected(peer)
    peerName = "air:" + (name.isEmpty ? peer.digits : name)
    self.data = SocketLink(data, peerName: peerName)
    self.control = control
    self.loop = loop
    self.maximum = maximum
    self.onEnd = onEnd
    control.takesOffers = true
    // Weak: who drives the link holds it, and the loop holds the control socket.
    control.hand { [weak self] input in self?.take(input) }
  }

  deinit {
    guard !hasEnded else { return }
    // Released without close(), perhaps by another thread than the loop's.
    let left = LoopBound((control, answerTimer, onEnd, asked, openChannels), loop)
    let peer = peer
    loop.execute {
      let (control, timer, onEnd, asked, open) = left.value
      for question in asked.values { question.request.end(.failure(.notConnected(peer))) }
      for channel in open { channel.core?.shutDown() }
      timer?.cancel()
      control.close()
      onEnd?()
    }
  }

  public var descriptor: Int32? { data.descriptor }
  /// This end's; the peer's is not known before it is asked.
  public var maximumSecurity: SecurityLevel { maximum.level }

  public func send(_ pdu: RawSpan) throws(LinkError) -> SendOutcome {
    guard raising == nil else { return .wouldBlock }
    guard let pacer, !hasEnded else { return try data.send(pdu) }
    return try pacer.send(pdu)
  }

  /// Times the link from now on: for the central, which tells its peer. Once only.
  func setTiming(_ timing: AirTiming) {
    guard control.send(.timing(timing.mirrored)) else { return }
    pace(timing)
  }

  private func pace(_ timing: AirTiming) {
    let data = data
    pacer = AirPacer(timing, on: loop) { (pdu) throws(LinkError) in
      try data.send(pdu)
    } whenWritable: { [weak self] in
      self?.observer?.linkReady(.writable)
    }
  }

  public func receive(into buffer: inout OutputRawSpan) throws(LinkError) -> ReceiveOutcome {
    let outcome = try data.receive(into: &buffer)
    guard outcome == .closed else { return outcome }
    // Why, the other end has said beside the channel, before it closed that.
    if !hasEnded { control.drain() }
    if let error = loss {
      loss = nil
      throw error
    }
    return outcome
  }

  public func close() {
    pacer?.flush()
    if !hasEnded { _ = control.send(.disconnect(.remoteUserTerminated)) }
    end(.localHostTerminated)
    data.close()
  }

  /// Ends the link and tells the peer why. Vol 4, Part E, 7.1.6.
  public func disconnect(_ reason: DisconnectReason) {
    pacer?.flush()
    if !hasEnded { _ = control.send(.disconnect(reason)) }
    end(.localHostTerminated)
    data.close()
  }

  public func setSendBuffer(_ octets: Int32) throws(LinkError) { try data.setSendBuffer(octets) }

  /// Asks the peer for a level. It is reached when the observer is told `securityChanged`; if
  /// the peer allows less, the link is lost, and `receive` throws EACCES.
  public func raiseSecurity(to level: SecurityLevel) throws(LinkError) {
    guard !hasEnded else { throw LinkError(.raiseSecurity, .closed, endpoint: peerName) }
    guard level > max(security.level, raising ?? .low) else { return }
    guard raising == nil else {
      wanted = max(wanted ?? level, level)
      return
    }
    let possible = min(level, maximum.level)
    guard possible > security.level else { return lose(.authenticationFailure, EACCES) }
    let isAsked =
      pairings.agent == nil
      ? control.send(.raise(LinkSecurity(level: possible, keySize: maximum.keySize)))
      : askToPair(possible)
    guard isAsked else {
      throw LinkError(.raiseSecurity, .system(EPIPE), endpoint: peerName)
    }
    raising = level
    isPairing = pairings.agent != nil
    awaitAnswer()
  }

  private func awaitAnswer() {
    answerTimer = OneTimer(after: answerTime, on: loop) { [weak self] in
      guard let self else { return }
      if isPairing { failed(.timeout) }
      lose(.authenticationFailure, ETIMEDOUT)
    }
  }

  /// What was asked for is not waited for any more.
  func stopRaising() {
    answerTimer?.cancel()
    answerTimer = nil
    raising = nil
  }

  private func take(_ input: AirControlSocket.Input) {
    switch input {
    case .control(.raise(let asked)) where asked.level > .low && response == nil:
      isPairing = pairings.agent != nil
      respond(asked)
    case .control(.pair(let capability, let asked, let highest, let key)) where response == nil:
      isPairing = pairings.agent != nil
      respond(capability, asked, highest, key)
    case .control(.method(let method, let value)): take(method, value)
    case .control(.confirm(let value, let key)): take(confirmed: value, key)
    case .control(.failed(let reason)): take(failed: reason)
    case .control(.raised(let granted)) where raising != nil: take(granted)
    case .control(.timing(let timing)) where !isCentral && pacer == nil: pace(timing)
    case .control(.answer(let identifier, let refusal)): take(answer: identifier, refusal)
    case .offer(let identifier, let psm, let descriptor):
      take(offer: identifier, psm, OwnedDescriptor(owning: descriptor))
    case .control(.disconnect(let reason)): end(reason)
    case .hangup: end(nil)
    case .channel(let descriptor):
      _ = Glibc.close(descriptor)
      lose(.unspecified, EPROTO)
    case .control, .violation: lose(.unspecified, EPROTO)
    }
  }

  /// Gives what the peer has asked for, or what pairing has made of it, as far as this end can.
  func grant(_ most: SecurityLevel, _ asked: LinkSecurity) {
    isPairing = false
    let level = min(max(most, asked.level), maximum.level)
    let granted =
      level == .low
      ? .low : LinkSecurity(level: level, keySize: min(asked.keySize, maximum.keySize))
    rise(to: granted)
    guard control.send(.raised(granted)) else { return lose(.unspecified, EPIPE) }
    askForChannelsAgain()
    askAgain()
  }

  /// The peer has answered.
  private func take(_ granted: LinkSecurity) {
    guard let asked = raising else { return }
    stopRaising()
    // A key may be worth more than was asked for; without an agent nobody has asked for one.
    let most = pairings.agent == nil ? asked : maximum.level
    guard granted.level <= most, granted.keySize <= maximum.keySize else {
      return lose(.unspecified, EPROTO)
    }
    rise(to: granted)
    guard granted.level >= asked else { return lose(.authenticationFailure, EACCES) }
    isPairing = false
    if newKey != 0 { pairings.paired(peer, .init(key: newKey, security: granted)) }
    let onRaised = onRaised
    self.onRaised = nil
    onRaised?(nil)
    observer?.linkReady(.writable)
    askForChannelsAgain()
    askAgain()
  }

  private func askAgain() {
    guard let wanted, !hasEnded, raising == nil else { return }
    self.wanted = nil
    if wanted <= security.level {
      observer?.linkReady(.writable)
    } else {
      do { try raiseSecurity(to: wanted) } catch { lose(.unspecified, EPIPE) }
    }
  }

  private func rise(to granted: LinkSecurity) {
    guard granted.level > security.level else { return }
    security = granted
    observer?.linkReady(.securityChanged)
  }

  /// Ends the link with an error for whoever receives.
  func lose(_ reason: DisconnectReason, _ errno: Int32) {
    guard !hasEnded else { return }
    let operation: LinkError.Operation = errno == EPROTO ? .receive : .raiseSecurity
    loss = LinkError(operation, .system(errno), endpoint: peerName)
    _ = control.send(.disconnect(reason))
    end(reason)
  }

  /// Ends the link. The ATT channel is shut down and not closed: what came before can still be
  /// received, then the descriptor shows the end.
  private func end(_ reason: DisconnectReason?) {
    guard !hasEnded else { return }
    hasEnded = true
    disconnectReason = reason
    stopRaising()
    pacer = nil
    question?.cancel()
    response = nil
    if isPairing { failed(reason == .authenticationFailure ? .disagreement(step) : .linkLost) }
    let onRaised = onRaised
    self.onRaised = nil
    control.close()
    if let socket = data.descriptor { _ = shutdown(socket, Int32(SHUT_RDWR)) }
    let onEnd = onEnd
    self.onEnd = nil
    onEnd?()
    endChannels(reason == .authenticationFailure || reason == .keyMissing)
    onRaised?(pairings.failure(peer) ?? .linkLost)
    observer?.linkReady(.closed)
  }
}
