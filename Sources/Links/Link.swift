public import ATT

/// A carrier of whole PDUs between two ends: an L2CAP channel, a Unix socket, a queue in memory.
///
/// A link keeps the order and the boundaries of PDUs. It never waits: what cannot be done now is
/// refused with `wouldBlock`, and the one who drives it comes back when the link is ready:
/// - a link with a `descriptor` is watched with epoll;
/// - one without calls its `observer`;
/// - one with a `deadline` (the delaying fault) wants ``advance(to:)`` at that moment.
///
/// A link belongs to one executor and is not `Sendable`.
public protocol Link: AnyObject {
  /// What to watch for readiness; nil if the link calls its observer, and after ``close()``.
  var descriptor: Int32? { get }

  /// Who is told of readiness that no descriptor shows. Held weakly.
  var observer: (any LinkObserver)? { get set }

  /// Sends one PDU, wholly or not at all. After `wouldBlock` the PDU is still the caller's, who
  /// sends it again when the link has become writable.
  ///
  /// Throws ``LinkError`` if the link has ended, or cannot carry a PDU of this length (EMSGSIZE).
  func send(_ pdu: RawSpan) throws(LinkError) -> SendOutcome

  /// Appends the next PDU to `buffer`, as much as has room there. Never waits.
  ///
  /// Throws ``LinkError`` once if the link was lost, by anything but an orderly end; from then
  /// on `closed` is returned.
  func receive(into buffer: inout OutputRawSpan) throws(LinkError) -> ReceiveOutcome

  /// Ends the link and closes its descriptor; more than once does nothing. What the peer has not
  /// received yet may still reach it. Whoever watches the descriptor unwatches it before.
  func close()

  /// Ends the link and keeps its descriptor, as if the peer had ended it: for one who is not
  /// the one that watches it. Nothing is received any more. By default the same as ``close()``.
  func disconnect()

  /// How well the link is protected now. May cost a system call: ask when a permission hangs
  /// on it.
  var security: LinkSecurity { get }

  /// What ``raiseSecurity(to:)`` can reach at most, as far as this end knows; `low` for a link
  /// that has no keys.
  var maximumSecurity: SecurityLevel { get }

  /// Asks for at least this level. Returns at once; the level is reached, or the link lost, some
  /// time later: a link with a descriptor then becomes writable or hangs up, one without tells
  /// its observer `securityChanged`. Does nothing if the level is reached already.
  ///
  /// - Throws: ``LinkError`` if the link has no keys for it or has ended.
  func raiseSecurity(to level: SecurityLevel) throws(LinkError)

  /// The other end, as messages to people name it.
  var peerName: String { get }

  /// The PHYs of an LE link (BT_PHY); nil for other links, and where the kernel does not tell:
  /// Linux 6.12 knows them only once they were changed. Links begin with LE 1M, unless they were
  /// made over extended advertising.
  var phy: LinkPHY? { get }

  /// Sets how much may wait in the kernel to be sent, in octets as the kernel counts them; see
  /// ``SocketOptions/sendBuffer``. Does nothing on links without such a buffer.
  ///
  /// Throws ``LinkError`` if the kernel refuses.
  func setSendBuffer(_ octets: Int32) throws(LinkError)

  /// When the link next wants to be advanced; nil for links that have no business with time.
  var deadline: Instant? { get }

  /// Tells the link the time; what has fallen due is done, and may make it ready.
  func advance(to now: Instant)
}

extension Link {
  public func disconnect() { close() }
  public var phy: LinkPHY? { nil }
  public func setSendBuffer(_ octets: Int32) throws(LinkError) {}
  public var maximumSecurity: SecurityLevel { .fips }
  public var deadline: Instant? { nil }
  public func advance(to now: Instant) {}
}

/// What became of a PDU to be sent.
@frozen public enum SendOutcome: Hashable, Sendable {
  /// The link has taken it.
  case sent
  /// There is no room now; nothing of the PDU was taken.
  case wouldBlock
}

/// What there was to receive.
@frozen public enum ReceiveOutcome: Hashable, Sendable {
  /// A PDU, perhaps an empty one, was appended to the buffer. If it was longer than the room
  /// there, `truncatedFrom` is its own length and the rest is lost.
  case pdu(truncatedFrom: Int?)
  /// Nothing now.
  case wouldBlock
  /// Nothing any more.
  case closed
}

/// What a link has become ready for.
@frozen public struct LinkReadiness: OptionSet, Hashable, Sendable {
  public let rawValue: UInt8
  @inlinable public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// A PDU may be there to be received.
  public static let readable = LinkReadiness(rawValue: 1)
  /// There may be room to send.
  public static let writable = LinkReadiness(rawValue: 2)
  /// The other end is gone. What it sent before may still wait to be received.
  public static let closed = LinkReadiness(rawValue: 4)
  /// ``Link/security`` has another value than before.
  public static let securityChanged = LinkReadiness(rawValue: 8)
}

/// One who is told when a link becomes ready.
public protocol LinkObserver: AnyObject {
  /// Called on the link's executor, from within a call on the link or on its other end. Note it
  /// and act later, or be prepared for being called from within an own call.
  func linkReady(_ readiness: LinkReadiness)
}

/// One who receives connections.
public protocol LinkListener: AnyObject {
  /// What to watch for readiness; nil after ``close()``.
  var descriptor: Int32? { get }

  /// The next connection, or nil if none waits.
  ///
  /// Connections that died in the queue are passed over. If the process is out of descriptors,
  /// the connection is taken with one held in reserve and closed at once, so that its peer sees
  /// an end and the listener does not spin; `refused` counts these. If even that fails,
  /// ``LinkError`` with EMFILE, ENFILE, ENOBUFS or ENOMEM is thrown: try again after a while.
  /// EAGAIN is thrown after 64 dead connections in one call: try again in the next turn.
  ///
  /// - Throws: ``LinkError`` as said above, and `closed` after ``close()``.
  func accept() throws(LinkError) -> SocketLink?

  /// Connections that were closed for want of descriptors.
  var refused: Int { get }
  /// Why the last of them was: EMFILE or ENFILE; nil if there was none.
  var refusal: LinkError? { get }

  /// Ends listening; more than once does nothing.
  func close()
}
