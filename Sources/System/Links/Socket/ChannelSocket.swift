import CAttoLinux

/// The outcome of receiving from a channel.
@frozen public enum ChannelReceipt: Hashable, Sendable {
  /// This many octets were appended, at least one.
  case octets(Int)
  /// Nothing is available now.
  case wouldBlock
  /// The channel has ended.
  case closed
}

/// A connected stream of octets beside ATT: an L2CAP channel with LE credit-based flow control
/// (Vol 3, Part A, 10.1), or a Unix socket in its place on the virtual air.
///
/// It never blocks. Both directions have flow control: `send` accepts nothing while the peer does
/// not read, and a peer cannot send while this end does not read. Boundaries are not kept.
public final class ChannelSocket {
  /// The most octets that one call sends on a Unix socket.
  public static let unixSendLimit = 65_536

  /// The kind of socket.
  public let carrier: SocketLink.Carrier
  /// The name of the other end in messages.
  public let peerName: String
  /// The most octets that one call sends: on L2CAP the longest SDU of the peer (BT_SNDMTU).
  public let sendLimit: Int
  private var owner: OwnedDescriptor?
  private let socket: Int32
  private var hasEnded = false
  /// The kernel's time stamps; nil unless they are wanted.
  package private(set) var stamps: SocketStamps?

  /// Takes ownership of a connected SOCK_STREAM socket. It need not be non-blocking.
  public init(
    _ descriptor: consuming OwnedDescriptor, carrier: SocketLink.Carrier, peerName: String
  ) {
    socket = descriptor.rawValue
    owner = consume descriptor
    self.carrier = carrier
    self.peerName = peerName
    switch carrier {
    case .unix: sendLimit = Self.unixSendLimit
    case .l2cap:
      // 23 is the minimum (Vol 3, Part A, 4.22).
      let limit = clinux_get_bluetooth_mtu(socket, BT_SNDMTU)
      sendLimit = limit > 0 ? Int(limit) : 23
    }
  }

  /// The descriptor to watch; nil after ``close()``.
  public var descriptor: Int32? { owner == nil ? nil : socket }

  /// Sends as many octets from the beginning of `octets` as there is room for.
  ///
  /// - Returns: how many were accepted; if 0, try again when the channel is writable.
  /// - Throws: ``LinkError`` with EPIPE, ECONNRESET or ENOTCONN if the channel has ended, ETIMEDOUT
  ///   if the link was lost.
  public func send(_ octets: RawSpan) throws(LinkError) -> Int {
    guard owner != nil else { throw LinkError(.send, .closed, endpoint: peerName) }
    guard !octets.isEmpty else { return 0 }
    let socket = socket
    let piece = octets.extracting(first: sendLimit)
    let result = piece.withUnsafeBytes { clinux_send(socket, $0.baseAddress, $0.count) }
    if result >= 0 {
      stamps?.noteSent(octets: result)
      return result
    }
    if result == -Int(EAGAIN) { return 0 }
    throw LinkError(.send, result: Int32(result), endpoint: peerName)
  }

  /// Appends received octets to `buffer`, which must have room for at least one.
  ///
  /// - Throws: ``LinkError`` once if the channel was lost, for instance with ETIMEDOUT; from then on
  ///   `closed` is returned.
  public func receive(into buffer: inout OutputRawSpan) throws(LinkError) -> ChannelReceipt {
    precondition(buffer.freeCapacity > 0, "no room to receive into")
    guard owner != nil, !hasEnded else { return .closed }
    let (socket, stamps) = (socket, stamps)
    let result = buffer.withUnsafeMutableBytes { bytes, count in
      let (start, room) = (bytes.baseAddress.map { $0 + count }, bytes.count - count)
      let received: Int
      if let stamps {
        received = min(clinux_receive_stamped(socket, start, room, &stamps.arrived), room)
      } else {
        received = clinux_receive_stream(socket, start, room)
      }
      if received > 0 { count += received }
      return received
    }
    if result > 0 { return .octets(result) }
    if result == -Int(EAGAIN) { return .wouldBlock }
    hasEnded = true
    // An L2CAP channel that either end has closed in order ends with one of these errors.
    let errno = Int32(-result)
    if errno == 0 || errno == ECONNRESET || errno == ECONNABORTED { return .closed }
    throw LinkError(.receive, .system(errno), endpoint: peerName)
  }

  /// Has the kernel stamp what an L2CAP channel sends and receives from now on, or no longer. If one call receives
  /// several SDUs, the stamp is that of the first.
  ///
  /// - Returns: the stamps that this kernel gives; none on a Unix socket.
  @discardableResult
  package func stamp(_ isWanted: Bool) -> KernelStamps {
    guard carrier == .l2cap, owner != nil else { return [] }
    stamps = SocketStamps.set(isWanted, of: socket, stamps)
    return stamps?.kinds ?? []
  }

  /// Whether sent octets would be lost by ``close()``: on L2CAP those that wait for the peer's
  /// credits. A Unix socket delivers everything.
  public var hasUnsent: Bool { owner != nil && carrier == .l2cap && clinux_unsent(socket) > 0 }

  /// Ends both directions and keeps the descriptor; octets that have arrived can still be received.
  public func shutDown() {
    if owner != nil { clinux_shut_down(socket) }
  }

  /// Closes the descriptor; calling it again does nothing. Stop watching the descriptor before.
  public func close() { owner = nil }
}
