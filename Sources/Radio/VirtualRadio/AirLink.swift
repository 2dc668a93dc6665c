import AttoATT
import AttoEventLoop
import AttoLinks
import AttoRadio
import Glibc

/// A link of the virtual air: an ATT channel, and a control socket beside it.
///
/// # Theory
/// The ATT channel is a socket that carries bare PDUs, so a link is as fast as any Unix socket. The
/// tasks of a controller and a security manager use the control socket.
///
/// Security only rises. The initiator asks (`raise`) and waits. The responder grants what was asked
/// for, up to its own maximum, and has the new level before it answers. Then the initiator has it
/// too. Until the answer arrives sending blocks, as on an L2CAP socket, so the peer of a later request
/// has the level already. If less was granted than asked for, or no answer arrives in
/// ``answerTime``, the link ends with an authentication failure, as it does on sockets of the
/// kernel. If the radios have agents, these are asked first: see `AirLink+Pairing.swift`.
///
///     open --raise--> raising --raised, enough--> open
///       |                |----raised, too little | time--> ended
///       '--hang-up | disconnect | violation | close--------> ended
///
/// PDUs that the peer sent before the end can still be received.
///
/// A link can have a simulated timing, which its central chooses: PDUs arrive when they would on a
/// real link (`AirPacer`). Closing it does not wait: PDUs under way are delivered first, as far as
/// the socket has room.
///
/// The loop's thread only, like every link. It may be released on any thread.
final class AirLink: Link {
  /// The time in which the peer must answer: 30 s for pairing in Vol 3, Part H, 3.4.
  static let answerTime: Duration = .seconds(30)
  /// Shorter in tests.
  var answerTime = AirLink.answerTime

  let peer: BluetoothAddress
  let peerName: String
  /// The addresses of both radios.
  let radioAddresses: LinkAddresses?
  /// The name that the peer gave; empty if it gave none.
  private let identity: String
  weak var observer: (any LinkObserver)? {
    didSet { if observer != nil { attached() } }
  }
  private(set) var security = LinkSecurity.low
  /// Why the link ended; nil if it is open, and if the peer gave no reason.
  private(set) var disconnectReason: DisconnectReason?

  private let data: SocketLink
  let control: AirControlSocket
  let loop: Loop
  let maximum: LinkSecurity
  let isCentral: Bool
  let pairings: AirPairings
  /// The level that this end has asked for, until it is answered.
  private(set) var raising: SecurityLevel?
  /// The level to ask for after that.
  var wanted: SecurityLevel?
  /// The question of the peer that this end has not answered yet.
  var response: Response?
  /// The key of the bond that this end, as the initiator, is making; 0 before.
  var newKey: UInt64 = 0
  /// Whether this end has asked to use an earlier bond.
  var hasNamedBond = false
  var step = PairingStep.nothing
  var question: Task<Void, Never>?
  var isPairing = false
  /// Called when raising has ended; with nil if it succeeded.
  var onRaised: ((PairingFailure?) -> Void)?
  private(set) weak var radio: AirBackend?
  /// Channels that this end has asked for, by identifier.
  var asked: [UInt8: AskedChannel] = [:]
  var openChannels: [WeakChannel] = []
  /// Enhanced bearers that this end has asked for, by identifier.
  var askedBearers: [UInt8: AskedBearers] = [:]
  /// Enhanced bearers by number.
  var bearers: [UInt8: WeakBearer] = [:]
  /// Takes the enhanced bearers that the peer opens.
  weak var acceptance: EnhancedAcceptance?
  /// The peer's requests for bearers that nobody here has decided about yet.
  var earlyRequests: [BearerRequest] = []
  var earlyTimer: LoopTimer?
  private var answerTimer: LoopTimer?
  private(set) var hasEnded = false
  /// nil if the link has no simulated timing.
  private(set) var pacer: AirPacer?
  /// The error that `receive` throws once.
  private var loss: LinkError?

  init(
    data: consuming OwnedDescriptor, control: AirControlSocket, peer: BluetoothAddress,
    name: String, isCentral: Bool, radio: AirBackend
  ) {
    self.isCentral = isCentral
    self.peer = peer
    identity = name
    pairings = radio.pairings
    pairings.agents.connected(peer)
    peerName = "air:" + (name.isEmpty ? peer.digits : name)
    radioAddresses = LinkAddresses(own: radio.address, peer: peer)
    self.data = SocketLink(data, peerName: peerName)
    self.control = control
    loop = radio.loop
    maximum = radio.maximumSecurity
    self.radio = radio
    control.takesOffers = true
    // Weak: the loop holds the control socket, and the user of the link holds the link.
    control.setHandler { [weak self] input in self?.receive(input) }
    radio.add(self)
  }

  deinit {
    guard !hasEnded else { return }
    // Released without close(), perhaps on another thread.
    let left = LoopBound(
      (radio, control, answerTimer, asked, openChannels, askedBearers, bearers), loop)
    let peer = peer
    loop.execute {
      let (radio, control, timer, asked, open, askedBearers, bearers) = left.value
      for question in askedBearers.values { question.end(.failure(.notConnected(peer))) }
      for bearer in bearers.values { bearer.bearer?.linkEnded() }
      for question in asked.values { question.end(.failure(.notConnected(peer))) }
      for channel in open { channel.shutDown() }
      timer?.cancel()
      control.close()
      radio?.linkEnded(peer, control)
    }
  }

  /// The link for the user of the adapter.
  var connected: ConnectedLink {
    ConnectedLink(self, peer: peer, identity: identity, isCentral: isCentral, loop: loop)
  }

  var descriptor: Int32? { data.descriptor }
  var peerProcess: PeerProcess? { control.process }
  /// The maximum of this end. That of the peer is not known.
  var maximumSecurity: SecurityLevel { maximum.level }

  func send(_ pdu: RawSpan) throws(LinkError) -> SendOutcome {
    guard raising == nil else { return .wouldBlock }
    guard let pacer, !hasEnded else { return try data.send(pdu) }
    return try pacer.send(pdu)
  }

  /// Gives the link a simulated timing, and tells the peer. Called once, by a central.
  func setTiming(_ timing: AirTiming) {
    guard control.send(.timing(timing.mirrored)) else { return }
    pace(timing)
  }

  private func pace(_ timing: AirTiming) {
    let data = data
    pacer = AirPacer(timing, on: loop) { (pdu) throws(LinkError) in
      try data.send(pdu)
    } whenWritable: { [weak self] in
      self?.notifyWritable()
    }
  }

  func receive(into buffer: inout OutputRawSpan) throws(LinkError) -> ReceiveOutcome {
    let outcome = try data.receive(into: &buffer)
    if case .pdu = outcome { pacer?.received() }
    guard outcome == .closed else { return outcome }
    // The peer has sent the reason on the control socket before it closed the channel.
    if !hasEnded { control.drain() }
    if let error = loss {
      loss = nil
      throw error
    }
    return outcome
  }

  func close() { disconnect(.remoteUserTerminated) }

  /// Ends the link with a reason for the peer. Vol 4, Part E, 7.1.6.
  func disconnect(_ reason: DisconnectReason) {
    pacer?.flush()
    if !hasEnded { _ = control.send(.disconnect(reason)) }
    end(.localHostTerminated)
    data.close()
  }

  func setSendBuffer(_ octets: Int32) throws(LinkError) { try data.setSendBuffer(octets) }

  /// Asks the peer for a level. When it is reached, the observer is called with `securityChanged`. If
  /// the peer grants less, the link is lost, and `receive` throws EACCES.
  func raiseSecurity(to level: SecurityLevel) throws(LinkError) {
    guard !hasEnded else { throw LinkError(.raiseSecurity, .closed, endpoint: peerName) }
    guard level > max(security.level, raising ?? .low) else { return }
    guard raising == nil else {
      wanted = max(wanted ?? level, level)
      return
    }
    let possible = min(level, maximum.level)
    guard possible > security.level else { return lose(.authenticationFailure, EACCES) }
    let isAsked =
      pairings.agents.agent == nil
      ? control.send(.raise(LinkSecurity(level: possible, keySize: maximum.keySize)))
      : askToPair(possible)
    guard isAsked else {
      throw LinkError(.raiseSecurity, .system(EPIPE), endpoint: peerName)
    }
    raising = level
    isPairing = pairings.agents.agent != nil
    awaitAnswer()
  }

  private func awaitAnswer() {
    answerTimer = LoopTimer(after: answerTime, on: loop) { [weak self] in
      guard let self else { return }
      if isPairing { failed(.timeout) }
      lose(.authenticationFailure, ETIMEDOUT)
    }
  }

  func stopRaising() {
    answerTimer?.cancel()
    answerTimer = nil
    raising = nil
  }

  private func receive(_ input: AirControlSocket.Input) {
    switch input {
    case .control(.raise(let asked)) where asked.level > .low && response == nil:
      isPairing = pairings.agents.agent != nil
      respond(asked)
    case .control(.pair(let capability, let asked, let highest, let key)) where response == nil:
      isPairing = pairings.agents.agent != nil
      respond(capability, asked, highest, key)
    case .control(.method(let method, let value)): receive(method, value)
    case .control(.confirm(let value, let key)): confirmed(value, key)
    case .control(.failed(let reason)): peerFailed(reason)
    case .control(.raised(let granted)) where raising != nil: self.granted(granted)
    case .control(.timing(let timing)) where !isCentral && pacer == nil: pace(timing)
    case .control(.answer(let identifier, let refusal)): answered(identifier, refusal)
    case .control(.bearers(let identifier, let count, let mtu)):
      asked(for: BearerRequest(identifier: identifier, count: Int(count), mtu: Int(mtu)))
    case .bearer(let identifier, let number, let mtu, let descriptor):
      received(identifier, number, mtu: Int(mtu), OwnedDescriptor(owning: descriptor))
    case .control(.opened(let identifier, let refusal)): opened(identifier, refusal)
    case .control(.reconfigure(let number, let mtu)): reconfigure(number, mtu: Int(mtu))
    case .control(.reconfigured(let number, _)): reconfigured(number)
    case .offer(let identifier, let psm, let descriptor):
      offered(identifier, psm, OwnedDescriptor(owning: descriptor))
    case .control(.disconnect(let reason)): end(reason)
    case .hangup: end(nil)
    case .channel(let descriptor):
      _ = Glibc.close(descriptor)
      lose(.unspecified, EPROTO)
    case .control, .violation: lose(.unspecified, EPROTO)
    }
  }

  /// Grants what the peer has asked for, or what pairing has resulted in, up to the maximum.
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

  private func granted(_ granted: LinkSecurity) {
    guard pairings.agents.agent != nil, newKey == 0, !hasNamedBond else { return reached(granted) }
    // The peer has no agent and asks nobody, but this end may refuse.
    guard step == .nothing else { return lose(.unspecified, EPROTO) }
    let peer = peer
    ask(yes: .accepted, { await $0.accepts(peer) }) { $0.reached(granted) }
  }

  private func reached(_ granted: LinkSecurity) {
    guard let asked = raising else { return }
    stopRaising()
    // With an agent the key may have a higher level than was asked for.
    let most = pairings.agents.agent == nil ? asked : maximum.level
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
    notifyWritable()
    askForChannelsAgain()
    askAgain()
  }

  private func askAgain() {
    guard let wanted, !hasEnded, raising == nil else { return }
    self.wanted = nil
    if wanted <= security.level {
      notifyWritable()
    } else {
      do { try raiseSecurity(to: wanted) } catch { lose(.unspecified, EPIPE) }
    }
  }

  private func rise(to granted: LinkSecurity) {
    guard granted.level > security.level else { return }
    security = granted
    observer?.linkReady(.securityChanged)
  }

  /// Ends the link with an error, which `receive` throws.
  func lose(_ reason: DisconnectReason, _ errno: Int32) {
    guard !hasEnded else { return }
    let operation: LinkError.Operation = errno == EPROTO ? .receive : .raiseSecurity
    loss = LinkError(operation, .system(errno), endpoint: peerName)
    _ = control.send(.disconnect(reason))
    end(reason)
  }

  /// Ends the link. The ATT channel is shut down and not closed, so that PDUs from before can still be
  /// received.
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
    radio?.linkEnded(peer, control)
    endChannels(reason == .authenticationFailure || reason == .keyMissing)
    endBearers()
    onRaised?(pairings.agents.failure(peer) ?? .linkLost)
    observer?.linkReady(.closed)
  }
}
