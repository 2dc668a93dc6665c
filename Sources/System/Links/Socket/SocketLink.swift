public import AttoATT
import CAttoLinux

/// A link over a connected SOCK_SEQPACKET socket: a Unix socket, L2CAP's ATT channel, or an L2CAP
/// channel of an enhanced bearer.
///
/// They differ only in how they are opened, in where the security level comes from, and in how
/// they end:
/// - A Unix socket receives 0 bytes at the end, and also for an empty PDU. To tell them apart, the
///   link checks whether the peer has shut down, and if so whether PDUs are left. One ambiguity
///   remains: an empty PDU that was the last one, read after the peer has closed, looks like the
///   end.
/// - The ATT channel never receives 0 bytes at the end, but ECONNRESET (ECONNABORTED if this machine
///   disconnected), and from then on EAGAIN. So the error is stored.
/// - An enhanced bearer that its peer closes receives 0 bytes, like a Unix socket.
/// - A Unix peer that closes with unread PDUs also causes ECONNRESET, before the PDUs it sent
///   itself. So after an error the remaining PDUs are still received.
///
/// Limits: PDUs of 672 octets on L2CAP unless negotiated, of the peer's MTU on an enhanced bearer
/// (EMSGSIZE); on Unix the send buffer, some 200 KB.
public final class SocketLink: AddressedLink {
  /// The kinds of socket.
  public enum Carrier: Hashable, Sendable {
    /// A Unix socket.
    case unix
    /// An L2CAP socket of the kernel.
    case l2cap
  }

  /// The kind of socket.
  public let carrier: Carrier
  public let peerName: String
  /// Whether the connection under this link may have been used before, or may be used again. Linux
  /// keeps an LE connection for 2 s (4 s at the peripheral) after its last socket has closed. A
  /// socket that connects meanwhile reuses it, and the socket at the other end is not told. Only a
  /// connection that this machine has just made is known to be new.
  public let mayBeReused: Bool
  /// Whether this is the channel of an enhanced bearer.
  public let isEnhanced: Bool
  /// Not used: the descriptor shows a socket's readiness.
  public weak var observer: (any LinkObserver)?
  /// Why the link was lost; nil if it has not ended, or ended in order.
  public private(set) var loss: LinkError?

  @exclusivity(unchecked) private var owner: OwnedDescriptor?
  /// The owner's descriptor; -1 after `close`.
  @exclusivity(unchecked) private var socket: Int32
  /// The errno that ended the link. PDUs left in the queue are still received.
  @exclusivity(unchecked) private var fatal: Int32 = 0
  @exclusivity(unchecked) private var reception = Reception.plain
  /// Whether a requested encryption is in progress.
  @exclusivity(unchecked) private var raising = false
  private var assumed = LinkSecurity.low
  /// The longest PDU that this end receives on an enhanced bearer; 0 or less until it was asked for.
  @exclusivity(unchecked) private var ownMTU: Int32 = 0
  /// The kernel's time stamps; nil unless they are wanted.
  @exclusivity(unchecked) package private(set) var stamps: SocketStamps?

  /// How PDUs are received: one comparison for each PDU tells all that is not plain.
  private enum Reception: UInt8 {
    case plain
    /// With the kernel's time stamps.
    case stamped
    /// The link has ended or was closed: there are no more.
    case ended
  }

  /// Takes ownership of a connected SOCK_SEQPACKET socket. It need not be non-blocking, because
  /// every call passes MSG_DONTWAIT.
  ///
  /// - Parameters:
  ///   - isNew: whether the connection was made for this socket.
  ///   - isEnhanced: whether it is an L2CAP channel in enhanced credit-based mode.
  public init(
    _ descriptor: consuming OwnedDescriptor, carrier: Carrier = .unix, isNew: Bool = false,
    isEnhanced: Bool = false, peerName: String
  ) {
    // A channel is its own: no other socket has used it.
    mayBeReused = carrier == .l2cap && !isNew && !isEnhanced
    self.isEnhanced = isEnhanced
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
      if stamps != nil { noteSent(1) }
      return .sent
    }
    try throwUnlessBlocked(Int32(-result))
    return .wouldBlock
  }

  /// Sends some or all of several PDUs with one system call. The caller keeps the rest, and sends
  /// it when the link has become writable.
  ///
  /// Throws as ``send(_:)`` does, for the first PDU.
  ///
  /// - Parameter entries: in the format of `PDUQueue.withEntries`.
  /// - Returns: how many were sent, perhaps 0.
  public func send(together entries: RawSpan) throws(LinkError) -> Int {
    guard socket >= 0 else { throw LinkError(.send, .closed, endpoint: peerName) }
    let socket = socket
    let result = entries.withUnsafeBytes {
      clinux_send_entries(socket, $0.baseAddress, $0.count)
    }
    if result >= 0 {
      raising = false
      if stamps != nil { noteSent(result) }
      return Int(result)
    }
    try throwUnlessBlocked(-result)
    return 0
  }

  /// Returns if sending would block, and throws otherwise.
  private func throwUnlessBlocked(_ errno: Int32) throws(LinkError) {
    if errno == EAGAIN { return }
    // L2CAP reports this between BT_SECURITY and the encryption, which makes the link writable.
    if errno == ENOTCONN, raising, fatal == 0 { return }
    // L2CAP reports the loss once, to the first call.
    if carrier == .l2cap, fatal == 0, SocketLink.endsLink(errno) { fatal = errno }
    throw LinkError(.send, .system(errno), endpoint: peerName)
  }

  public func receive(into buffer: inout OutputRawSpan) throws(LinkError) -> ReceiveOutcome {
    guard reception == .plain else { return try receiveOtherwise(into: &buffer) }
    let room = buffer.freeCapacity
    let socket = socket
    let length = buffer.withUnsafeMutableBytes { bytes, count in
      let room = bytes.count - count
      let length = clinux_receive(socket, bytes.baseAddress.map { $0 + count }, room)
      if length > 0 { count += min(length, room) }
      return length
    }
    if length > 0 { return .pdu(truncatedFrom: length > room ? length : nil) }
    return try receivedNone(length, into: &buffer)
  }

  /// Receives with stamps, or nothing after the end.
  @inline(never)
  private func receiveOtherwise(
    into buffer: inout OutputRawSpan
  ) throws(LinkError) -> ReceiveOutcome {
    guard reception == .stamped else { return .closed }
    let room = buffer.freeCapacity
    let socket = socket
    var stamp: Int64 = 0
    let length = buffer.withUnsafeMutableBytes { bytes, count in
      let room = bytes.count - count
      let start = bytes.baseAddress.map { $0 + count }
      let length = clinux_receive_stamped(socket, start, room, &stamp)
      if length > 0 { count += min(length, room) }
      return length
    }
    stamps?.arrived = stamp
    if length > 0 { return .pdu(truncatedFrom: length > room ? length : nil) }
    return try receivedNone(length, into: &buffer)
  }

  /// The outcome of a call that received no octets: 0, or a negative errno.
  private func receivedNone(
    _ result: Int, into buffer: inout OutputRawSpan
  ) throws(LinkError) -> ReceiveOutcome {
    if fatal == 0 {
      if result == -Int(EAGAIN) { return .wouldBlock }
      if result < 0 {
        fatal = Int32(-result)
        // The PDUs left behind the error.
        return try receive(into: &buffer)
      }
      if carrier == .l2cap && !isEnhanced || isEmptyPDU() { return .pdu(truncatedFrom: nil) }
    }
    reception = .ended
    if fatal == 0 || fatal == ECONNRESET || fatal == ECONNABORTED { return .closed }
    let error = LinkError(.receive, .system(fatal), endpoint: peerName)
    loss = error
    throw error
  }

  @inline(never)
  private func noteSent(_ count: Int32) { stamps?.noteSent(count) }

  /// Whether 0 bytes from a Unix socket are an empty PDU.
  private func isEmptyPDU() -> Bool {
    let bits = clinux_poll_now(socket)
    guard bits >= 0 else { return false }
    if bits & (CLINUX_POLLRDHUP | CLINUX_POLLHUP) == 0 { return true }
    return clinux_peek(socket) > 0
  }

  public func close() {
    socket = -1
    owner = nil
    stamps = nil
    reception = .ended
  }

  /// Has the kernel stamp PDUs of an L2CAP socket from now on, or no longer. Without stamps, nothing of this
  /// costs a system call or memory.
  ///
  /// - Returns: the stamps that this kernel gives; none on a Unix socket, which has none.
  @discardableResult
  package func stamp(_ isWanted: Bool) -> KernelStamps {
    guard carrier == .l2cap, reception != .ended else { return [] }
    stamps = SocketStamps.set(isWanted, of: socket, stamps)
    reception = stamps == nil ? .plain : .stamped
    return stamps?.kinds ?? []
  }

  public func disconnect() {
    guard socket >= 0 else { return }
    reception = .ended
    _ = shutdown(socket, Int32(SHUT_RDWR))
  }

  /// Whether a send error concerns the link, rather than this PDU or the machine.
  private static func endsLink(_ errno: Int32) -> Bool {
    switch errno {
    case ECONNRESET, ECONNABORTED, ETIMEDOUT, EPIPE, ENOTCONN, EHOSTDOWN, EHOSTUNREACH, ENETDOWN,
      ENODEV, EBADE, EACCES:
      true
    default: false
    }
  }

  /// On L2CAP the kernel's level (BT_SECURITY). A Unix socket has no keys: its level is the last one
  /// given to ``raiseSecurity(to:)`` or ``assume(_:)`` at this end.
  public var security: LinkSecurity {
    guard carrier == .l2cap, socket >= 0 else { return assumed }
    var level: UInt8 = 0
    var keySize: UInt8 = 0
    guard clinux_get_security(socket, &level, &keySize) == 0,
      let known = SecurityLevel(rawValue: max(level, 1))
    else { return .low }
    // For a link that has ended the kernel reports the requested level, but no key size.
    return known == .low || keySize == 0 ? .low : LinkSecurity(level: known, keySize: keySize)
  }

  /// A Unix socket has no keys, so it guarantees no level.
  public var maximumSecurity: SecurityLevel { carrier == .l2cap ? .fips : .low }

  /// On L2CAP, encrypts or pairs (BT_SECURITY); sending would block until that is done. Pairing
  /// never completes without an agent that answers the kernel's questions. On a Unix socket the
  /// level is assumed.
  ///
  /// Throws ``LinkError`` if the kernel refuses or the link is closed.
  public func raiseSecurity(to level: SecurityLevel) throws(LinkError) {
    guard socket >= 0 else { throw LinkError(.raiseSecurity, .closed, endpoint: peerName) }
    // The kernel refuses a level that is already reached with EINVAL.
    guard security.level < level else { return }
    guard carrier == .l2cap else {
      assumed = LinkSecurity(level)
      return
    }
    try LinkError.check(clinux_set_security(socket, level.rawValue), .raiseSecurity, peerName)
    raising = true
  }

  /// Sets the security level of a Unix socket. Traps on L2CAP, where the kernel decides.
  public func assume(_ security: LinkSecurity) {
    precondition(carrier == .unix, "the kernel decides the security of an L2CAP link")
    assumed = security
  }

  /// On L2CAP the addresses that the kernel knows now. For a peer with a private address this is
  /// the identity address once the kernel has resolved it. Vol 3, Part C, 10.8.2.3.
  public var addresses: LinkAddresses? {
    carrier == .l2cap && socket >= 0 ? Self.l2capAddresses(of: socket) : nil
  }

  static func l2capAddresses(of socket: Int32) -> LinkAddresses? {
    var (own, peer) = ([UInt8](repeating: 0, count: 6), [UInt8](repeating: 0, count: 6))
    var (ownKind, peerKind): (UInt8, UInt8) = (0, 0)
    guard clinux_l2cap_addresses(socket, &own, &ownKind, &peer, &peerKind) == 0,
      let ownKind = BluetoothAddress.Kind(rawValue: ownKind),
      let peerKind = BluetoothAddress.Kind(rawValue: peerKind),
      let own = BluetoothAddress(littleEndian: own, kind: ownKind),
      let peer = BluetoothAddress(littleEndian: peer, kind: peerKind)
    else { return nil }
    return LinkAddresses(own: own, peer: peer)
  }

  public var peerProcess: PeerProcess? {
    carrier == .unix && socket >= 0 ? PeerProcess(of: socket) : nil
  }

  public var phy: LinkPHY? {
    var bits: UInt32 = 0
    guard carrier == .l2cap, socket >= 0, clinux_get_phy(socket, &bits) == 0 else { return nil }
    return LinkPHY(bits: bits)
  }

  public func choosePHY(_ phy: LinkPHY.Kind) throws(LinkError) {
    guard carrier == .l2cap, socket >= 0 else { return }
    let result = clinux_set_option(socket, SOL_BLUETOOTH, BT_PHY, phy.bits)
    try LinkError.check(result, .option("BT_PHY"), peerName)
  }

  public var enhancedMTU: Int? {
    guard isEnhanced, socket >= 0 else { return nil }
    if ownMTU <= 0 { ownMTU = clinux_get_bluetooth_mtu(socket, BT_RCVMTU) }
    let mtu = min(clinux_get_bluetooth_mtu(socket, BT_SNDMTU), ownMTU)
    return mtu > 0 ? Int(mtu) : nil
  }

  public func raiseReceiveMTU(to octets: Int) throws(LinkError) {
    guard socket >= 0 else { throw LinkError(.option("BT_RCVMTU"), .closed, endpoint: peerName) }
    guard isEnhanced else {
      throw LinkError(.option("BT_RCVMTU"), .notEnhanced, endpoint: peerName)
    }
    // The kernel answers a reduction with EINVAL, and asks the peer for the same MTU again.
    guard octets > clinux_get_bluetooth_mtu(socket, BT_RCVMTU) else { return }
    let result = clinux_set_bluetooth_mtu(socket, BT_RCVMTU, UInt16(clamping: octets))
    ownMTU = 0
    try LinkError.check(result, .option("BT_RCVMTU"), peerName)
  }

  public func setSendBuffer(_ octets: Int32) throws(LinkError) {
    guard socket >= 0 else { return }
    try SocketOptions(sendBuffer: octets).apply(to: socket, endpoint: peerName)
  }
}
