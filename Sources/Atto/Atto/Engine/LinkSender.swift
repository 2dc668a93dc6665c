import AttoATT
import AttoEventLoop
import AttoGATT
import AttoLinks

/// Sends what a session wants sent over its link.
///
/// # Theory
/// The system call is tried first. Only when the link has no room (``isBlocked``) does sending
/// wait for the link's readiness, and nothing is tried until then.
///
/// While the client's record is being stored (``isHeld``), nothing is sent: the client must not
/// learn of a change before that is durable.
final class LinkSender {
  private let session: Session
  private let link: any Link
  private let socket: SocketLink?
  /// The monitor of the options, and that of ``watch(_:)``.
  @exclusivity(unchecked) private(set) var monitor: (@Sendable (MonitoredEvent) -> Void)?
  private let given: (@Sendable (MonitoredEvent) -> Void)?
  private let loop: Loop
  /// The link had no room for the first PDU of the outbox.
  @exclusivity(unchecked) var isBlocked = false
  @exclusivity(unchecked) var isHeld = false
  @exclusivity(unchecked) private var isFlushing = false
  /// Times the exchanges; nil while they are not timed.
  @exclusivity(unchecked) private(set) var timer: ExchangeTimer?
  /// PDUs that were sent.
  @exclusivity(unchecked) private(set) var count: UInt64 = 0

  init(
    _ session: Session, to link: any Link, _ socket: SocketLink?,
    monitor: (@Sendable (MonitoredEvent) -> Void)?, on loop: Loop
  ) {
    self.session = session
    self.link = link
    self.socket = socket
    (self.monitor, given) = (monitor, monitor)
    isMonitored = monitor != nil
    self.loop = loop
  }

  /// Sends as much of the outbox as the link has room for.
  @inline(__always)
  func flush() throws(LinkError) {
    guard !isFlushing, !isHeld else { return }
    isFlushing = true
    defer { isFlushing = false }
    if isMonitored {
      try flushMonitored()
    } else if let socket, session.outputCount > 1 {
      isBlocked = try !session.transmit(together: { (entries) throws(LinkError) in
        let sent = try socket.send(together: entries)
        count += UInt64(sent)
        return sent
      })
    } else if session.hasOutput {
      isBlocked = try !session.transmit { (pdu) throws(LinkError) in
        guard try link.send(pdu) == .sent else { return false }
        count += 1
        return true
      }
    }
  }

  /// The monitor may call the connection, so it gets a PDU after that has left the outbox.
  private func flushMonitored() throws(LinkError) {
    while session.hasOutput {
      let pdu = session.bearer.outbox.withFirst { $0.owned } ?? []
      timer?.sends(pdu.span.bytes, at: loop.refreshNow())
      isBlocked = try link.send(pdu.span.bytes) == .wouldBlock
      guard !isBlocked else { return }
      session.bearer.outbox.removeFirst()
      count += 1
      note(.sent, pdu.span.bytes)
    }
  }

  /// Shows a PDU to the monitor and the timer.
  @inline(__always)
  func note(_ direction: MonitoredPDU.Direction, _ pdu: RawSpan) {
    if isMonitored { show(direction, pdu) }
  }

  // Apart, so that a connection that nobody monitors pays for one comparison.
  @inline(never)
  private func show(_ direction: MonitoredPDU.Direction, _ pdu: RawSpan) {
    if let timer, direction == .received { timer.received(pdu, at: loop.refreshNow()) }
    guard let monitor else { return }
    monitor(
      .pdu(
        MonitoredPDU(
          direction: direction, octets: pdu.owned, mtu: session.bearer.mtu,
          // Not the beginning of the loop's turn, which may be long ago.
          time: Instant(nanoseconds: loop.refreshNow()), bearer: Int(session.number))))
  }

  /// Whether there is a monitor or a timer. Stored, because it is asked for each PDU.
  @exclusivity(unchecked) private(set) var isMonitored: Bool

  private func setMonitored() { isMonitored = monitor != nil || timer != nil }

  /// Times the exchanges from now on, with the stamps that the kernel gives; nil: no longer.
  ///
  /// - Returns: those stamps.
  func time(_ body: ((TimedExchange) -> Void)?) -> KernelStamps {
    let kinds = socket?.stamp(body != nil) ?? []
    timer = body.map { ExchangeTimer(socket?.stamps, $0) }
    setMonitored()
    return kinds
  }

  /// Shows each PDU to a watcher too; nil: to no other.
  func watch(_ watcher: (@Sendable (MonitoredPDU) -> Void)?) {
    defer { setMonitored() }
    guard let watcher else { return monitor = given }
    monitor = { [given] event in
      given?(event)
      if case .pdu(let pdu) = event { watcher(pdu) }
    }
  }

  /// Tells the monitor that the link has ended.
  func noteEnd(_ error: AttoError) { monitor?(.ended(error)) }
}
