import AttoATT
import AttoEventLoop
import AttoGATT
import AttoLinks

/// Receiving.
///
/// # Theory
/// PDUs are received until there is none left, or until this turn's share is used up.
///
/// Back-pressure: while the link accepts nothing more and the outbox is full, nothing is read, so
/// that a peer that does not read cannot make this end collect responses. While a consumer of values
/// is full, nothing is read either, unless a response or a confirmation is awaited, which may come
/// after more values.
///
/// After the peer has disconnected, the PDUs left in the link are read to the end, whether or not
/// consumers have room, because the link reports its end and the reason only after them.
extension BearerCore {
  var mayRead: Bool {
    guard !hasEnded, !isAwaitingMemory else { return false }
    if isDraining { return true }
    guard !session.isCongested else { return false }
    // On LE's fixed channel unread PDUs hold nobody back: the kernel drops those its buffer has no
    // room for, uncounted. So they are received, and the queue counts.
    if !holdsBackPeer { return true }
    return !(isHeldBack || values.areFull) || session.operationCount > 0
      || session.deadline != nil
  }

  func read() {
    guard !isReading else { return }
    isReading = true
    defer {
      isReading = false
      adjustWatch()
    }
    var share = Self.pdusPerTurn
    // The loop's clock does not change within a turn.
    let now = now
    while isReadable, mayRead {
      guard share > 0 else { return continueLater() }
      share -= 1
      do throws(LinkError) {
        switch try buffer.receive(from: link) {
        case .pdu:
          let endsTurn = buffer.withPDU { receive($0, at: now) }
          if endsTurn, watch.trigger == .level, !isDraining { isReadable = false }
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

  /// Handles a PDU. True if the peer waits for something before it sends another.
  private func receive(_ pdu: RawSpan, at now: Instant) -> Bool {
    receivedCount += 1
    lastHeard = now
    if hasChannelMTU { updateMTU(for: pdu) }
    sender.note(.received, pdu)
    switch session.receive(pdu, at: now) {
    case .none:
      // A request, a response, or a command.
      guard pdu.byteCount > 0, Opcode(pdu.octet(at: 0)).isCommand else {
        return pdu.byteCount > 0
      }
      if let recorder, recorder.isCounterWanted { repeatSignedWrite(pdu.owned, recorder) }
      return false
    case .notification:
      if let pdu = HandleAndValue(pdu) { deliver(pdu, isIndication: false) }
      return false
    case .notifications:
      deliverAll(PDU(pdu))
      return false
    case .indication:
      if let pdu = HandleAndValue(pdu) { deliver(pdu, isIndication: true) }
      session.confirm()
    case .confirmed(let id): confirmed(id)
    case .securityWanted: raising.securityWanted()
    case .failed(let failure): finish(.bearer(failure))
    }
    return true
  }

  /// The peer may have reconfigured its channel. A response in flight may be as short as the earlier
  /// ATT_MTU, with which a long read has to compare it: only a longer PDU tells that it is not.
  private func updateMTU(for pdu: RawSpan) {
    if pdu.byteCount > session.bearer.mtu || session.bearer.awaitedRequest == nil { updateMTU() }
  }

  /// Sets ATT_MTU to that of the channel, if it is larger.
  func updateMTU() {
    if let mtu = link.enhancedMTU { session.bearer.setChannelMTU(mtu) }
  }

  @inline(__always)
  private func deliver(_ pdu: borrowing HandleAndValue, isIndication: Bool) {
    values.deliver(
      pdu.handle, pdu.value, isIndication: isIndication, isLimited: !isDraining, at: now)
  }

  private func deliverAll(_ pdu: borrowing PDU) {
    switch pdu {
    case .multipleHandleValueNotification(let pdu):
      var iterator = pdu.makeIterator()
      while let value = iterator.next() {
        values.deliver(
          value.handle, value.value, isIndication: false, isLimited: !isDraining, at: now)
      }
    default: break
    }
  }

  /// Carries out a signed write again when its counter is stored.
  private func repeatSignedWrite(_ pdu: [UInt8], _ recorder: ClientRecorder) {
    awaitMemory()
    recorder.storeCounter { [weak self] isStored in
      guard let self else { return }
      if isStored, !hasEnded { _ = session.receive(pdu.span.bytes, at: now) }
      memoryAnswered()
    }
  }

  // MARK: Going on in the next turn

  /// Reads what may have become readable, unless the next poll reports it.
  func resumeReading() {
    if isReadable || !watch.reportsReading { read() }
  }

  func continueLater() {
    if !watch.reschedule(.readable) { resumeLater() }
  }

  private func resumeLater() {
    guard reader == nil, !hasEnded else { return }
    let reader = Resumption(self)
    self.reader = reader
    loop.schedule(at: loop.now, reader)
  }

  fileprivate func resume() {
    reader = nil
    flush()
    read()
  }
}

extension BearerCore: ReadinessHandler {
  func ready(_ readiness: Readiness) {
    if readiness.contains(.writable) {
      // A link that is being encrypted accepts nothing until it is.
      if raising.isActive { raising.levelMayHaveChanged() }
      flush()
      // Nothing was read while there was no room. A sender without pause fills the link before the
      // next poll, so the peer's PDUs are received now.
      if !watch.reportsReading { isReadable = true }
    }
    var readiness = readiness
    // Stamps that wait are reported as an error. If it is another, receiving tells.
    if readiness.contains(.error), let timer = sender.timer, timer.collects {
      timer.collect()
      readiness.remove(.error)
      readiness.insert(.readable)
    }
    // A hang-up may be reported without anything to receive: only receiving tells the reason.
    if !readiness.isDisjoint(with: [.hangup, .error]) { isDraining = true }
    if !readiness.isDisjoint(with: [.readable, .hangup, .error]) { isReadable = true }
    read()
  }
}

extension BearerCore: LinkObserver {
  /// Links call this from within calls, so the work is done in a call of its own.
  func linkReady(_ readiness: LinkReadiness) {
    if readiness.contains(.securityChanged) { raising.levelMayHaveChanged() }
    if !readiness.isDisjoint(with: [.readable, .closed]) { isReadable = true }
    var next: Readiness = .readable
    if readiness.contains(.writable) { next.insert(.writable) }
    if !watch.reschedule(next) { resumeLater() }
  }
}

/// Calls a bearer in the next turn of the loop.
final class Resumption: TimerHandler {
  private weak var core: BearerCore?
  init(_ core: BearerCore) { self.core = core }
  func timerFired(_ id: TimerID) { core?.resume() }
}
