import Atto
import AttoATT
import AttoEventLoop
import AttoFormats
import AttoLinks
import Glibc

/// A client's link joined to the link to the peer. Used on the loop's thread.
///
/// # Theory
/// Each direction holds at most one PDU, for which the other side has no room yet; nothing is
/// received in that direction until it is sent. So a side that does not read holds back the other by
/// the links' own flow control, and a pair needs memory for two PDUs. (LE's fixed channel has no
/// flow control: the kernel drops what its buffer has no room for, as it would without a relay.)
///
/// With rules for changes a direction may hold copies of a PDU too, and answers to what the other
/// side sent. Then nothing is received from that side while ``heldLimit`` wait for it. A PDU that is
/// delayed holds back what follows it.
///
///     opening --joined--> passing --a side is over--> what it left is passed --> ended
///        |                   |------a PDU that cannot be passed as it is------> ended
///        '--no link----------'------stop--------------------------------------> ended
///
/// A link reports its end after the last PDU, so a side is over when the end has been received.
/// Sending to a side that has gone fails earlier. Then nothing more is sent to it, and what it left
/// is passed on until its end shows.
///
/// A PDU that is too long to be held, or that the other link cannot carry, ends both links: the two
/// ends would no longer agree on what was said.
final class RelayedPair {
  /// PDUs of one direction and turn, after which others have theirs.
  static let pdusPerTurn = 64
  /// Answers that wait for a side.
  static let heldLimit = 64

  let number: Int
  private let loop: Loop
  private let client: RelayedLink
  private var peer: RelayedLink?
  /// Shared by all pairs: it is filled and emptied within one call.
  private let buffer: ReceiveBuffer
  private var turns: ChangeTurns?
  private let onPDU: (MonitoredPDU, ChangedPDU?) -> Void
  private let onEnd: (RelayEnd, _ undelivered: Int) -> Void
  private var hasEnded = false
  private var isPumping = false

  /// - Parameters:
  ///   - buffer: one octet longer than ``RawRelay/longestPDU``.
  ///   - changes: the rules for what is passed on.
  ///   - onPDU: called with each PDU when it has arrived, and what a rule made of it; `sent` are the
  ///     client's.
  init(
    _ number: Int, client: any Link, on loop: Loop, buffer: ReceiveBuffer, changes: PDUChanges?,
    onPDU: @escaping (MonitoredPDU, ChangedPDU?) -> Void,
    onEnd: @escaping (RelayEnd, _ undelivered: Int) -> Void
  ) {
    self.number = number
    self.loop = loop
    self.client = RelayedLink(client, .client)
    self.buffer = buffer
    turns = changes.map { ChangeTurns($0) }
    self.onPDU = onPDU
    self.onEnd = onEnd
  }

  var clientName: String { client.link.peerName }

  /// Begins to pass PDUs.
  ///
  /// - Throws: `LoopError` if a link cannot be watched; nothing is passed then, and both are closed
  ///   by ``stop(_:)``.
  func join(_ link: any Link) throws(LoopError) {
    guard !hasEnded else { return link.close() }
    let peer = RelayedLink(link, .peer)
    self.peer = peer
    try client.watch(on: loop, for: self)
    try peer.watch(on: loop, for: self)
    pump()
  }

  func stop(_ end: RelayEnd = .stopped) { finish(end) }

  fileprivate func pump() {
    guard let peer, !hasEnded, !isPumping else { return }
    isPumping = true
    defer { isPumping = false }
    pass(from: client, to: peer, .sent)
    pass(from: peer, to: client, .received)
    for (side, other) in [(client, peer), (peer, client)] {
      if side.sendFailure != nil, other.sendFailure != nil || side.hasNothing {
        return finish(side.end ?? .lost(side.side, side.sendFailure!))
      }
      if let end = side.end, side.held.isEmpty { return finish(end) }
    }
  }

  private func pass(
    from source: RelayedLink, to target: RelayedLink, _ direction: MonitoredPDU.Direction
  ) {
    var share = Self.pdusPerTurn
    while !hasEnded, target.sendFailure == nil {
      if let first = source.held.first {
        if let time = first.notBefore, time > loop.refreshNow() {
          return source.wait(until: time, on: loop) { [weak self] in self?.pump() }
        }
        do throws(LinkError) {
          guard try target.link.send(first.octets.span.bytes) == .sent else { return }
          source.held.removeFirst()
          continue
        } catch {
          guard !error.isOfThePDU else {
            return finish(.notPassed(from: source.side, length: first.octets.count, error))
          }
          // What it has left, and why it ended, is read in the next turn.
          target.sendFailure = error
          return target.again()
        }
      }
      guard source.end == nil else { return }
      guard share > 0 else { return source.again() }
      // Its answers come first.
      guard target.held.count < Self.heldLimit else { return }
      share -= 1
      guard receive(from: source, to: target, direction) else { return }
    }
  }

  /// Receives the next PDU and holds what is passed on; false if there is none.
  private func receive(
    from source: RelayedLink, to target: RelayedLink, _ direction: MonitoredPDU.Direction
  ) -> Bool {
    do throws(LinkError) {
      switch try buffer.receive(from: source.link) {
      case .pdu(let truncatedFrom):
        let pdu = buffer.withPDU { $0.owned }
        let length = truncatedFrom ?? pdu.count
        guard length <= RawRelay.longestPDU else {
          let error = LinkError(
            .receive, .pduTooLong(length: length, limit: RawRelay.longestPDU),
            endpoint: source.link.peerName)
          finish(.notPassed(from: source.side, length: length, error))
          return false
        }
        let now = loop.refreshNow()
        let changed = turns?.change(pdu, isFromClient: source.side == .client)
        source.hold(changed?.passed ?? [pdu], changed?.delay.map { now + $0.inNanoseconds })
        if let answer = changed?.answer {
          target.hold([answer], nil)
          // The other direction may have had its turn.
          source.again()
        }
        onPDU(
          MonitoredPDU(
            direction: direction, octets: pdu, mtu: .max, time: Instant(nanoseconds: now)),
          changed)
        return true
      case .wouldBlock:
        source.hasNothing = source.sendFailure != nil
        return false
      case .closed:
        source.end = .closed(by: source.side)
        return true
      }
    } catch {
      source.end = .lost(source.side, error)
      return true
    }
  }

  private func finish(_ end: RelayEnd) {
    guard !hasEnded else { return }
    hasEnded = true
    let sides = [client, peer].compactMap(\.self)
    for side in sides { side.close() }
    onEnd(end, sides.reduce(0) { $0 + $1.held.count })
  }
}

private final class RelayedLink: ReadinessHandler, LinkObserver {
  let link: any Link
  let side: RelaySide
  /// PDUs from this link that the other side has no room for, or not yet; answers for the other
  /// side among them.
  var held: [(octets: [UInt8], notBefore: Int64?)] = []
  /// Fires when the first of these may be passed on.
  private var timer: LoopTimer?
  /// How the link ended; set after everything from it was received.
  var end: RelayEnd?
  /// Why nothing more can be sent on this link.
  var sendFailure: LinkError?
  /// Whether nothing can be sent or received, and the link does not say why.
  var hasNothing = false
  private var watch: (id: WatchID, loop: Loop)?
  private weak var pair: RelayedPair?

  init(_ link: any Link, _ side: RelaySide) {
    self.link = link
    self.side = side
  }

  /// - Parameter notBefore: when the first may be passed on; nil: at once.
  func hold(_ pdus: [[UInt8]], _ notBefore: Int64?) {
    for pdu in pdus { held.append((pdu, notBefore)) }
  }

  func wait(until time: Int64, on loop: Loop, _ body: @escaping () -> Void) {
    guard timer == nil else { return }
    timer = LoopTimer(after: .nanoseconds(time - loop.now), on: loop) { [weak self] in
      self?.timer = nil
      body()
    }
  }

  func watch(on loop: Loop, for pair: RelayedPair) throws(LoopError) {
    self.pair = pair
    guard let descriptor = link.descriptor else { return }
    watch = (try loop.watch(descriptor, self), loop)
    // A link on the air whose PDUs are timed, or that is being encrypted, has room when it says so.
    link.observer = self
  }

  func ready(_ readiness: Readiness) { pair?.pump() }

  /// May be called from within a call of the pair.
  func linkReady(_ readiness: LinkReadiness) { again() }

  /// Has the pair look again in the next turn.
  func again() {
    if let watch { watch.loop.reschedule(watch.id, [.readable, .writable]) }
  }

  func close() {
    if let watch { watch.loop.unwatch(watch.id) }
    watch = nil
    timer?.cancel()
    timer = nil
    link.close()
  }
}

extension LinkError {
  /// Whether it is this PDU that cannot be sent, and not the link that has ended.
  fileprivate var isOfThePDU: Bool {
    switch reason {
    case .pduTooLong: operation == .send
    case .system(let errno): operation == .send && errno == EMSGSIZE
    default: false
    }
  }
}
