import CLinux

/// What there was to receive from a channel.
@frozen public enum ChannelReceipt: Hashable, Sendable {
  /// So many octets were appended, at least one.
  case octets(Int)
  /// Nothing now.
  case wouldBlock
  /// Nothing any more.
  case closed
}

/// A connected stream of octets beside ATT: an L2CAP channel with LE credit-based flow control
/// (Vol 3, Part A, 10.1), or a Unix socket in its place on the virtual air.
///
/// It never waits. Both directions have flow control: what the peer does not take makes `send`
/// take nothing, and what this end does not take holds the peer back. Boundaries are not kept.
public final class ChannelSocket {
  /// What carries the octets.
  public enum Carrier: Hashable, Sendable {
    /// A Unix socket.
    case unix
    /// L2CAP with LE credits.
    case l2cap
  }

  /// Octets that one call sends at most on a Unix socket.
  public static let unixSendLimit = 65_536

  /// What carries the octets.
  public let carrier: Carrier
  /// The other end, as messages to people name it.
  public let peerName: String
  /// Octets that one call sends at most: on L2CAP what the peer takes as one SDU (BT_SNDMTU).
  public let sendLimit: Int
  private var owner: OwnedDescriptor?
  private let socket: Int32
  private var hasEnded = false

  /// Takes over a connected SOCK_STREAM socket. It need not be non-blocking.
  public init(_ descriptor: consuming OwnedDescriptor, carrier: Carrier, peerName: String) {
    socket = descriptor.rawValue
    owner = consume descriptor
    self.carrier = carrier
    self.peerName = peerName
    switch carrier {
    case .unix: sendLimit = Self.unixSendLimit
    case .l2cap:
      // 23 is the least that a peer may offer (Vol 3, Part A, 4.22).
      let limit = clinux_get_bluetooth_mtu(socket, BT_SNDMTU)
      sendLimit = limit > 0 ? Int(limit) : 23
    }
  }

  /// What to watch; nil after ``close()``.
  public var descriptor: Int32? { owner == nil ? nil : socket }

  /// Sends what there is room for, from the beginning of `octets`.
  ///
  /// - Returns: how many were taken; 0: come back when the channel is writable.
  /// - Throws: ``LinkError`` with EPIPE, ECONNRESET or ENOTCONN if the channel has ended, ETIMEDOUT
  ///   if the link was lost.
  public func send(_ octets: RawSpan) throws(LinkError) -> Int {
    guard owner != nil else { throw LinkError(.send, .closed, endpoint: peerName) }
    guard !octets.isEmpty else { return 0 }
    let socket = socket
    let piece = octets.extracting(first: sendLimit)
    let result = piece.withUnsafeBytes { clinux_send(socket, $0.baseAddress, $0.count) }
    if result >= 0 { return result }
    if result == -Int(EAGAIN) { return 0 }
    throw LinkError(.send, result: Int32(result), endpoint: peerName)
  }

  /// Appends to `buffer` what has come, as far as there is room, which must not be empty.
  ///
  /// - Throws: ``LinkError`` once if the channel was lost by anything but an orderly end, such as
  ///   ETIMEDOUT; from then on `closed` is returned.
  public func receive(into buffer: inout OutputRawSpan) throws(LinkError) -> ChannelReceipt {
    precondition(buffer.freeCapacity > 0, "no room to receive into")
    guard owner != nil, !hasEnded else { return .closed }
    let socket = socket
    let result = buffer.withUnsafeMutableBytes { bytes, count in
      let received = clinux_receive_stream(
        socket, bytes.baseAddress.map { $0 + count }, bytes.count - count)
      if received > 0 { count += received }
      return received
    }
    if result > 0 { return .octets(result) }
    if result == -Int(EAGAIN) { return .wouldBlock }
    hasEnded = true
    // So ends an L2CAP channel that the peer, or this end, has closed in order.
    let errno = Int32(-result)
    if errno == 0 || errno == ECONNRESET || errno == ECONNABORTED { return .closed }
    throw LinkError(.receive, .system(errno), endpoint: peerName)
  }

  /// Whether something that was sent has not left yet and would be lost with ``close()``: on L2CAP
  /// what waits for the peer's credits. A Unix socket's peer gets what was sent in any case.
  public var hasUnsent: Bool { owner != nil && carrier == .l2cap && clinux_unsent(socket) > 0 }

  /// Ends both directions and keeps the descriptor; what has come can still be received.
  public func shutDown() {
    if owner != nil { clinux_shut_down(socket) }
  }

  /// Closes the descriptor; more than once does nothing. Whoever watches it unwatches it before.
  public func close() { owner = nil }
}
