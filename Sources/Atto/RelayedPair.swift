import ATT
import EventLoop
import Glibc
import Links

/// A client's link and the one that was opened for it to the peer, joined: what comes from either
/// goes to the other as it is. The loop's thread only.
///
/// # Theory
/// Each direction holds one PDU at most, the one that the other side has no room for yet; nothing is
/// received on that side until it is gone. So who does not read holds back who sends, by the links'
/// own flow control, and this end's memory is two PDUs whatever comes. (LE's fixed channel has no
/// flow control: there the kernel drops what its buffer has no room for, as it would without a
/// relay.)
///
///     opening --joined--> passing --a side is over--> what it left is passed --> ended
///        |                   |------a PDU that cannot be passed as it is------> ended
///        '--no link----------'------stop--------------------------------------> ended
///
/// A link tells its end behind the last PDU, so a side is over when that has been received. Sending
/// to one that has gone fails before that; then nothing more is sent to it, and what it left is
/// passed on until its end shows.
///
/// A PDU that came too long to be held, or that the other link cannot carry, ends both: after it the
/// two ends would not speak of the same any more.
final class RelayedPair {
  /// PDUs of one direction and turn, after which others have theirs.
  static let pdusPerTurn = 64

  let number: Int
  private let loop: Loop
  private let client: RelayedLink
  private var peer: RelayedLink?
  /// Received into, and empty again, within one call: so all pairs share it.
  private let buffer: ReceiveBuffer
  private let onPDU: (MonitoredPDU) -> Void
  private let onEnd: (RelayEnd) -> Void
  private var hasEnded = false
  private var isPumping = false

  /// - Parameters:
  ///   - buffer: one octet longer than ``RawRelay/longestPDU``.
  ///   - onPDU: told of each PDU when it has come; `sent` are the client's.
  init(
    _ number: Int, client: any Link, on loop: Loop, buffer: ReceiveBuffer,
    onPDU: @escaping (MonitoredPDU) -> Void, onEnd: @escaping (RelayEnd) -> Void
  ) {
    self.number = number
    self.loop = loop
    self.client = RelayedLink(client, .client)
    self.buffer = buffer
    self.onPDU = onPDU
    self.onEnd = onEnd
  }

  /// The client's name, as its link has it.
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
        return finish(side.end ?? .lost(side.side, side.sendFailure!, undelivered: 0))
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
          // What it has left to say is read in the next turn, and why it ended.
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

  /// Takes the next PDU in hand; false if there is none.
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
        source.end = .closed(by: source.side, undelivered: 0)
        return true
      }
    } catch {
      source.end = .lost(source.side, error, undelivered: 0)
      return true
    }
  }

  private func finish(_ end: RelayEnd) {
    guard !hasEnded else { return }
    hasEnded = true
    var undelivered = 0
    for side in [client, peer].compactMap(\.self) {
      if side.held != nil { undelivered += 1 }
      side.close()
    }
    onEnd(end.with(undelivered: undelivered))
  }
}

/// One of the two links.
private final class RelayedLink: ReadinessHandler, LinkObserver {
  let link: any Link
  let side: RelaySide
  /// What has come from here and the other side has no room for.
  var held: [UInt8]?
  /// How it ended; behind everything that came from here.
  var end: RelayEnd?
  /// Why nothing can be sent here any more.
  var sendFailure: LinkError?
  /// Whether nothing can be sent here, nothing comes, and the link does not say why.
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

  /// Perhaps from within a call of the pair's.
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
