public import AttoATT
import CAttoLinux

/// A carrier of whole PDUs between two ends: an L2CAP channel or a Unix socket.
///
/// A link keeps the order and the boundaries of PDUs. It never blocks: an operation that cannot be
/// done now returns `wouldBlock`, and the caller retries when the link is ready:
/// - a link with a `descriptor` is watched with epoll;
/// - a link without one calls its `observer`;
/// - a link with a `deadline` needs a call of ``advance(to:)`` at that time.
///
/// A link belongs to one executor and is not `Sendable`.
public protocol Link: AnyObject {
  /// The descriptor to watch for readiness; nil if the link calls its observer, and after
  /// ``close()``.
  var descriptor: Int32? { get }

  /// Called when a link without a descriptor becomes ready. Held weakly.
  var observer: (any LinkObserver)? { get set }

  /// Sends one whole PDU. After `wouldBlock` the caller sends it again when the link has become
  /// writable.
  ///
  /// Throws ``LinkError`` if the link has ended, or cannot carry a PDU of this length (EMSGSIZE).
  func send(_ pdu: RawSpan) throws(LinkError) -> SendOutcome

  /// Appends the next PDU to `buffer`, as much of it as there is room for. Does not block.
  ///
  /// Throws ``LinkError`` once if the link was lost rather than closed; from then on `closed` is
  /// returned.
  func receive(into buffer: inout OutputRawSpan) throws(LinkError) -> ReceiveOutcome

  /// Ends the link and closes its descriptor; calling it again does nothing. PDUs that the peer has
  /// not received yet may still reach it. Stop watching the descriptor before.
  func close()

  /// Ends the link and keeps its descriptor, as if the peer had ended it: for code that does not own
  /// the watch of the descriptor. No more PDUs are received. By default the same as ``close()``.
  func disconnect()

  /// The security of the link now. May cost a system call, so ask only when a permission depends on
  /// it.
  var security: LinkSecurity { get }

  /// The highest level that ``raiseSecurity(to:)`` can reach, as far as this end knows; `low` for a
  /// link without keys.
  var maximumSecurity: SecurityLevel { get }

  /// Requests at least this level. Returns at once; the level is reached, or the link is lost, some
  /// time later. A link with a descriptor then becomes writable or hangs up; one without notifies its
  /// observer of `securityChanged`. Does nothing if the level is already reached.
  ///
  /// - Throws: ``LinkError`` if the link has no keys for the level, or has ended.
  func raiseSecurity(to level: SecurityLevel) throws(LinkError)

  /// The name of the other end in messages.
  var peerName: String { get }

  /// The addresses of the radios at both ends; nil for links without radios, and after the end. Unlike
  /// those of an ``AddressedLink`` they may identify no bond. May cost a system call.
  var radioAddresses: LinkAddresses? { get }

  /// The process at the other end of a Unix socket; nil for other links. The user is reliable. A
  /// process may have passed the socket on.
  var peerProcess: PeerProcess? { get }

  /// The PHYs of an LE link (BT_PHY); nil for other links, and if the kernel does not report them:
  /// Linux 6.12 knows them only after a change, and 7.3 only if a single one is allowed.
  var phy: LinkPHY? { get }

  /// ATT_MTU of an enhanced bearer, which is the smaller one of both ends' MTUs; nil for other
  /// links. It grows when an end raises its own. May cost a system call. Vol 3, Part F, 3.2.8.
  var enhancedMTU: Int? { get }

  /// Raises the longest PDU that this end of an enhanced bearer receives
  /// (L2CAP_CREDIT_BASED_RECONFIGURE_REQ, Vol 3, Part A, 4.27). Does nothing if it is that long
  /// already: an MTU is never reduced.
  ///
  /// Throws ``LinkError`` if the link has ended or is no enhanced bearer.
  func raiseReceiveMTU(to octets: Int) throws(LinkError)

  /// Sets the size of the kernel's send buffer; see ``SocketOptions/sendBuffer``. Does nothing on
  /// links without one.
  ///
  /// Throws ``LinkError`` if the kernel refuses.
  func setSendBuffer(_ octets: Int32) throws(LinkError)

  /// Asks the controller for a PHY in both directions (BT_PHY; LE Set PHY, Vol 4, Part E, 7.8.49). The peer may
  /// not agree, and the link then keeps its PHY. Does nothing on links without one.
  ///
  /// Throws ``LinkError`` if the kernel refuses; with ENOPROTOOPT if it has no such choice.
  func choosePHY(_ phy: LinkPHY.Kind) throws(LinkError)

  /// When the link next needs to be advanced; nil for links that do not depend on time.
  var deadline: Instant? { get }

  /// Advances the link to a time. It does everything that is due, which may make it ready.
  func advance(to now: Instant)
}

extension Link {
  public func disconnect() { close() }
  public var radioAddresses: LinkAddresses? { (self as? any AddressedLink)?.addresses }
  public var peerProcess: PeerProcess? { nil }
  public var phy: LinkPHY? { nil }
  public func setSendBuffer(_ octets: Int32) throws(LinkError) {}
  public func choosePHY(_ phy: LinkPHY.Kind) throws(LinkError) {}
  public var enhancedMTU: Int? { nil }
  public func raiseReceiveMTU(to octets: Int) throws(LinkError) {
    throw LinkError(.option("MTU"), .notEnhanced, endpoint: peerName)
  }
  public var maximumSecurity: SecurityLevel { .fips }
  public var deadline: Instant? { nil }
  public func advance(to now: Instant) {}
}

/// A process that has connected, as the kernel noted it at that time.
public struct PeerProcess: Hashable, Sendable {
  /// Its effective user.
  public let user: UInt32
  /// Its number.
  public let number: Int32

  /// Creates a value with these properties.
  public init(user: UInt32, number: Int32) {
    self.user = user
    self.number = number
  }

  /// The process that made the connection of a Unix socket (SO_PEERCRED); nil for other sockets.
  public init?(of descriptor: Int32) {
    var (number, user): (Int32, UInt32) = (0, 0)
    guard clinux_peer_process(descriptor, &number, &user) == 0, number > 0 else { return nil }
    self.init(user: user, number: number)
  }
}

/// The outcome of sending a PDU.
@frozen public enum SendOutcome: Hashable, Sendable {
  /// The link has accepted the PDU.
  case sent
  /// There is no room now, and no part of the PDU was accepted.
  case wouldBlock
}

/// The outcome of receiving a PDU.
@frozen public enum ReceiveOutcome: Hashable, Sendable {
  /// A PDU, perhaps an empty one, was appended to the buffer. If it did not fit, `truncatedFrom` is
  /// its length and the rest is lost.
  case pdu(truncatedFrom: Int?)
  /// No PDU is available now.
  case wouldBlock
  /// The link has ended.
  case closed
}

/// The operations that a link has become ready for.
@frozen public struct LinkReadiness: OptionSet, Hashable, Sendable {
  public let rawValue: UInt8
  @inlinable public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// A PDU may be available.
  public static let readable = LinkReadiness(rawValue: 1)
  /// There may be room to send.
  public static let writable = LinkReadiness(rawValue: 2)
  /// The other end has closed. PDUs that it sent before may still be available.
  public static let closed = LinkReadiness(rawValue: 4)
  /// ``Link/security`` has changed.
  public static let securityChanged = LinkReadiness(rawValue: 8)
}

/// Receives the readiness of links without a descriptor.
public protocol LinkObserver: AnyObject {
  /// Called on the link's executor, from within a call on the link or on its other end. The observer
  /// must therefore expect to be called from within its own calls.
  func linkReady(_ readiness: LinkReadiness)
}
