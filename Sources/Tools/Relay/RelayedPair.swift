import Atto
import AttoATT
import AttoEventLoop
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

  let number: Int
  private let loop: Loop
  private let client: RelayedLink
  private var peer: RelayedLink?
  /// Shared by all pairs: it is filled and emptied within one call.
  private let buffer: ReceiveBuffer
  private let onPDU: (MonitoredPDU) -> Void
  private let onEnd: (RelayEnd, _ undelivered: Int) -> Void
  private var hasEnded = false
  private var isPumping = false

  /// - Parameters:
  ///   - buffer: one octet longer than ``RawRelay/longestPDU``.
  ///   - onPDU: called with each PDU when it has arrived; `sent` are the client's.
  init(
    _ number: Int, client: any Link, on loop: Loop, buffer: ReceiveBuffer,
    onPDU: @escaping (MonitoredPDU) -> Void, onEnd: @escaping (RelayEnd, _ undelivered: Int) -> Void
  ) {
    self.number = number
    self.loop = loop
    self.client = RelayedLink(client, .client)
    self.buffer = buffer
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
      if let end = side.end, side.held == nil { return finish(end) }
    }
  }

  private func pass(
    from source: RelayedLink, to target: RelayedLink, _ direction: MonitoredPDU.Direction
  ) {
    var share = Self.pdusPerTurn
    while !hasEnded, target.sendFailure == nil {
      if let pdu = source.held {
        do throws(LinkError) {
          guard try target.link.send(pdu.span.bytes) == .sent else { return }
          source.held = nil
        } catch {
          guard !error.isOfThePDU else {
            return finish(.notPassed(from: source.side, length: pdu.count, error))
          }
          // What it has left, and why it ended, is read in the next turn.
          target.sendFailure = error
          return target.again()
        }
      }
      guard source.end == nil else { return }
      guard share > 0 else { return source.again() }
      share -= 1
      guard receive(from: source, direction) else { return }
    }
  }

  /// Receives the next PDU into `held`; false if there is none.
  private func receive(from source: RelayedLink, _ direction: MonitoredPDU.Direction) -> Bool {
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
        source.held = pdu
        onPDU(
          MonitoredPDU(
            direction: direction, octets: pdu, mtu: .max,
            time: Instant(nanoseconds: loop.refreshNow())))
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
    onEnd(end, sides.count { $0.held != nil })
  }
}

private final class RelayedLink: ReadinessHandler, LinkObserver {
  let link: any Link
  let side: RelaySide
  /// A PDU from this link that the other side has no room for.
  var held: [UInt8]?
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
