public import ATT
import CLinux

/// A link over a connected SOCK_SEQPACKET socket: a Unix socket, or L2CAP's ATT channel.
///
/// The two differ only in how they are opened, in who knows the level of security, and in how
/// they end:
/// - A Unix socket receives 0 bytes at the end, and for an empty PDU too. They are told apart
///   by asking whether the peer has shut down, and if so whether PDUs are left. One case stays:
///   an empty PDU that was the very last one and was read after the peer had closed passes for
///   the end.
/// - L2CAP never receives 0 bytes at the end but ECONNRESET (ECONNABORTED if this machine
///   disconnected), and after that EAGAIN for ever; so the error is remembered.
/// - A Unix peer that closes with unread PDUs makes ECONNRESET too, before what it sent itself;
///   so after an error what is left is still received.
///
/// Limits: PDUs of up to 672 bytes on L2CAP unless negotiated (EMSGSIZE), on Unix of up to the
/// send buffer, some 200 KB.
public final class SocketLink: AddressedLink {
  /// What carries the PDUs.
  public enum Carrier: Hashable, Sendable {
    /// A Unix socket.
    case unix
    /// L2CAP's fixed channel.
    case l2cap
  }

  /// What carries the PDUs.
  public let carrier: Carrier
  public let peerName: String
  /// Whether others may have used the connection under this link before, or may after: Linux
  /// keeps an LE connection for 2 s (4 s at the peripheral) after its last socket has closed.
  /// Who connects meanwhile gets it as it is, and the socket at the other end is not told. Only
  /// a connection that this machine has just made is known to be new.
  public let mayBeReused: Bool
  /// Not used: a socket shows its readiness on its descriptor.
  public weak var observer: (any LinkObserver)?
  /// Why the link ended, if it did not end in order.
  public private(set) var loss: LinkError?

  @exclusivity(unchecked) private var owner: OwnedDescriptor?
  /// The owner's descriptor; -1 after `close`.
  @exclusivity(unchecked) private var socket: Int32
  /// The errno that ended the link; what is left in the queue is still received.
  @exclusivity(unchecked) private var fatal: Int32 = 0
  @exclusivity(unchecked) private var ended = false
  /// Set while an encryption that was asked for is under way.
  @exclusivity(unchecked) private var raising = false
  private var assumed = LinkSecurity.low

  /// Takes over a connected SOCK_SEQPACKET socket. It need not be non-blocking: every call says
  /// that it will not wait.
  ///
  /// - Parameter isNew: the connection under it was made for it.
  public init(
    _ descriptor: consuming OwnedDescriptor, carrier: Carrier = .unix, isNew: Bool = false,
    peerName: String
  ) {
    mayBeReused = carrier == .l2cap && !isNew
    socket = descriptor.rawValue
    owner = consume descriptor
    self.carrier = carrier
    self.peerName = peerName
  }

  public var descriptor: Int32? { socket < 0 ? nil : socket }

  public func send(_ pdu: RawSpan) throws(LinkError) -> SendOutcome {
    guard socket >= 0 else { throw LinkError(.send, .closed, endpoint: peerName) }
    let socket = socket
    let result = pdu.withUnsafeBytes { clinux_send(socket, $0.baseAddress, $0.count) }
    if result >= 0 {
      raising = false
      return .sent
    }
    try refused(Int32(-result))
    return .wouldBlock
  }

  /// Sends PDUs with one system call, some or all. What is left, after 0 too, is still the
  /// caller's, who sends it again when the link has become writable.
  ///
  /// Throws as ``send(_:)`` does, if that happens to the first of them.
  ///
  /// - Parameter entries: as `PDUQueue.withEntries` shows them.
  /// - Returns: how many were sent.
  public func send(together entries: RawSpan) throws(LinkError) -> Int {
    guard socket >= 0 else { throw LinkError(.send, .closed, endpoint: peerName) }
    let socket = socket
    let result = entries.withUnsafeBytes {
      clinux_send_entries(socket, $0.baseAddress, $0.count)
    }
    if result >= 0 {
      raising = false
      return Int(result)
    }
    try refused(-result)
    return 0
  }

  /// Returns if sending would block, and throws otherwise.
  private func refused(_ errno: Int32) throws(LinkError) {
    if errno == EAGAIN { return }
    // L2CAP says so between BT_SECURITY and the encryption of the link, which makes it writable.
    if errno == ENOTCONN, raising, fatal == 0 { return }
    // L2CAP tells once that it was lost, to whoever comes first.
    if carrier == .l2cap, fatal == 0, SocketLink.endsLink(errno) { fatal = errno }
    throw LinkError(.send, .system(errno), endpoint: peerName)
  }

  public func receive(into buffer: inout OutputRawSpan) throws(LinkError) -> ReceiveOutcome {
    guard socket >= 0, !ended else { return .closed }
    // Twice at most: an error, then what is left behind it.
    while true {
      let room = buffer.freeCapacity
      let length = take(into: &buffer)
      if length > 0 { return .pdu(truncatedFrom: length > room ? length : nil) }
      if length == 0, fatal == 0, carrier == .l2cap || isEmptyPDU() {
        return .pdu(truncatedFrom: nil)
      }
      if length == -Int(EAGAIN), fatal == 0 { return .wouldBlock }
      guard length < 0, length != -Int(EAGAIN), fatal == 0 else { break }
      fatal = Int32(-length)
    }
    ended = true
    if fatal == 0 || fatal == ECONNRESET || fatal == ECONNABORTED { return .closed }
    let error = LinkError(.receive, .system(fatal), endpoint: peerName)
    loss = error
    throw error
  }

  /// Receives one PDU behind what `buffer` holds. Its length, 0, or a negative errno.
  private func take(into buffer: inout OutputRawSpan) -> Int {
    let socket = socket
    return buffer.withUnsafeMutableBytes { bytes, count in
      let room = bytes.count - count
      let length = clinux_receive(socket, bytes.baseAddress.map { $0 + count }, room)
      // The kernel stored as much of the PDU as there was room for, and no more.
      if length > 0 { count += min(length, room) }
      return length
    }
  }

  /// Whether 0 bytes from a Unix socket were an empty PDU.
  private func isEmptyPDU() -> Bool {
    let bits = clinux_poll_now(socket)
    guard bits >= 0 else { return false }
    if bits & (CLINUX_POLLRDHUP | CLINUX_POLLHUP) == 0 { return true }
    return clinux_peek(socket) > 0
  }

  public func close() {
    socket = -1
    owner = nil
  }

  public func disconnect() {
    guard socket >= 0 else { return }
    ended = true
    _ = shutdown(socket, Int32(SHUT_RDWR))
  }

  /// Whether an error of sending is one of the link rather than of this PDU or of the machine.
  private static func endsLink(_ errno: Int32) -> Bool {
    switch errno {
    case ECONNRESET, ECONNABORTED, ETIMEDOUT, EPIPE, ENOTCONN, EHOSTDOWN, EHOSTUNREACH, ENETDOWN,
      ENODEV, EBADE, EACCES:
      true
    default: false
    }
  }

  /// On L2CAP what the kernel says (BT_SECURITY); on a Unix socket, which has no keys, what
  /// ``raiseSecurity(to:)`` or ``assume(_:)`` last said at this end.
  public var security: LinkSecurity {
    guard carrier == .l2cap, socket >= 0 else { return assumed }
    var level: UInt8 = 0
    var keySize: UInt8 = 0
    guard clinux_get_security(socket, &level, &keySize) == 0,
      let known = SecurityLevel(rawValue: max(level, 1))
    else { return .low }
    // Of a link that is no more the kernel tells the level that was asked for, but no key.
    return known == .low || keySize == 0 ? .low : LinkSecurity(level: known, keySize: keySize)
  }

  /// A Unix socket has no keys: its level is what somebody says it is.
  public var maximumSecurity: SecurityLevel { carrier == .l2cap ? .fips : .low }

  /// On L2CAP pairs or encrypts (BT_SECURITY); until that is done sending would block. It never
  /// ends without an agent that answers the kernel's questions. On a Unix socket the level is
  /// simply assumed.
  ///
  /// Throws ``LinkError`` if the kernel refuses or the link is closed.
  public func raiseSecurity(to level: SecurityLevel) throws(LinkError) {
    guard socket >= 0 else { throw LinkError(.raiseSecurity, .closed, endpoint: peerName) }
    // The kernel calls a level that is reached already invalid.
    guard security.level < level else { return }
    guard carrier == .l2cap else {
      assumed = LinkSecurity(level)
      return
    }
    let result = clinux_set_security(socket, level.rawValue)
    guard result == 0 else {
      throw LinkError(.raiseSecurity, result: result, endpoint: peerName)
    }
    raising = true
  }

  /// Says how well a Unix socket shall count as protected. Traps on L2CAP, where the kernel
  /// knows.
  public func assume(_ security: LinkSecurity) {
    precondition(carrier == .unix, "the security of an L2CAP link is not a matter of opinion")
    assumed = security
  }

  /// On L2CAP the two ends, as the kernel knows them now: a peer that changes its address has its
  /// identity address here once the kernel has resolved it. Vol 3, Part C, 10.8.2.3.
  public var addresses: LinkAddresses? {
    guard carrier == .l2cap, socket >= 0, let own = L2CAPSocket.own(of: socket),
      let peer = L2CAPSocket.peer(of: socket)
    else { return nil }
    return LinkAddresses(own: own, peer: peer)
  }

  public var phy: LinkPHY? {
    var bits: UInt32 = 0
    guard carrier == .l2cap, socket >= 0, clinux_get_phy(socket, &bits) == 0 else { return nil }
    func kind(_ choices: [(Int32, LinkPHY.Kind)]) -> LinkPHY.Kind? {
      choices.first { bits & UInt32($0.0) != 0 }?.1
    }
    guard
      let transmit = kind([
        (BT_PHY_LE_CODED_TX, .coded), (BT_PHY_LE_2M_TX, .twoMegabit),
        (BT_PHY_LE_1M_TX, .oneMegabit),
      ]),
      let receive = kind([
        (BT_PHY_LE_CODED_RX, .coded), (BT_PHY_LE_2M_RX, .twoMegabit),
        (BT_PHY_LE_1M_RX, .oneMegabit),
      ])
    else { return nil }
    return LinkPHY(transmit: transmit, receive: receive)
  }

  public func setSendBuffer(_ octets: Int32) throws(LinkError) {
    guard socket >= 0 else { return }
    try SocketOptions(sendBuffer: octets).apply(to: socket, endpoint: peerName)
  }

  /// Who made the socket at the other end (SO_PEERCRED): for Unix sockets; nil elsewhere.
  public var peerCredentials: PeerCredentials? {
    guard carrier == .unix, socket >= 0 else { return nil }
    var process: Int32 = 0
    var user: UInt32 = 0
    var group: UInt32 = 0
    guard clinux_peer_credentials(socket, &process, &user, &group) == 0 else { return nil }
    return PeerCredentials(process: process, user: user, group: group)
  }
}

/// Who made the other end of a Unix socket, as the kernel noted it then.
public struct PeerCredentials: Hashable, Sendable {
  /// The process, as this process' PID namespace numbers it; 0 if it is outside.
  public let process: Int32
  /// The effective user (`uid`).
  public let user: UInt32
  /// The effective group (`gid`).
  public let group: UInt32
}
