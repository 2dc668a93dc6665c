public import AttoEventLoop
public import AttoLinks

/// A stream of octets to a peer beside ATT: an L2CAP channel with LE credit-based flow control
/// (Vol 3, Part A, 10.1), or its equivalent on the virtual air.
///
/// Functions never wait, and nothing is buffered in memory: ``send(_:)`` takes no more than the
/// peer has room for, and what is not received here holds the peer back. The channel ends when
/// either end closes it, and with its link.
///
/// Functions trap off the loop's thread. The channel may be released on any thread, and is closed
/// then.
public final class Channel: Sendable {
  /// The address of the peer.
  public let peer: BluetoothAddress
  /// The PSM at which it was opened, of either end.
  public let psm: UInt16
  /// The loop that it belongs to.
  public let loop: Loop
  private let core: LoopBound<ChannelCore>

  /// The loop's thread only.
  ///
  /// - Throws: `system` if the socket cannot be watched.
  package init(
    _ socket: ChannelSocket, peer: BluetoothAddress, psm: UInt16, on loop: Loop
  ) throws(RadioError) {
    self.peer = peer
    self.psm = psm
    self.loop = loop
    core = LoopBound(try ChannelCore(socket, on: loop), loop)
  }

  deinit {
    let core = core
    loop.execute { core.value.close() }
  }

  /// Has `body` called on the loop, in the next turn and whenever the channel may have become
  /// readable or writable or has ended. The channel holds `body` until it is closed. nil: nothing is
  /// called.
  public func whenReady(_ body: ((Readiness) -> Void)?) { core.value.setHandler(body) }

  /// Sends as many octets as there is room for, at most ``sendLimit``.
  ///
  /// - Returns: the number of octets that were sent. After 0, try again when the channel is writable.
  /// - Throws: `LinkError` if the channel has ended.
  public func send(_ octets: RawSpan) throws(LinkError) -> Int {
    try core.value.socket.send(octets)
  }

  /// Appends received octets to `buffer`, which must have room.
  ///
  /// - Throws: `LinkError` once if the channel was lost, ETIMEDOUT for instance; afterwards `closed`
  ///   is returned.
  public func receive(into buffer: inout OutputRawSpan) throws(LinkError) -> ChannelReceipt {
    try core.value.socket.receive(into: &buffer)
  }

  /// The number of octets that one ``send(_:)`` takes at most: on L2CAP the largest SDU of the peer.
  public var sendLimit: Int { core.value.socket.sendLimit }

  /// Whether octets wait for credits of the peer. They are lost if the process ends now.
  public var hasUnsent: Bool { core.value.socket.hasUnsent }

  /// The socket, for the kernel's time stamps.
  package var socket: ChannelSocket { core.value.socket }

  /// Closes the channel; more than once does nothing. Octets that were sent before still reach the
  /// peer if it receives them within ten seconds, while the loop runs.
  public func close() { core.value.close() }

  /// A reference for the backend, which does not hold the channel.
  package var weakReference: WeakChannel { WeakChannel(core: core.value) }
}

/// A channel that a backend ends with its link, and does not hold.
package struct WeakChannel {
  weak var core: ChannelCore?

  /// Whether the channel was closed or released.
  package var isOver: Bool { core?.socket.descriptor == nil }

  /// Ends both directions: the link has ended.
  package func shutDown() { core?.socket.shutDown() }
}
