public import EventLoop
public import Links

/// A stream of octets to a peer beside ATT: an L2CAP channel with LE credit-based flow control
/// (Vol 3, Part A, 10.1), on the virtual air a stand-in for one.
///
/// It never waits and keeps nothing in memory: what the peer does not take, ``send(_:)`` does not
/// take either, and what is not received here holds the peer back. It ends when either end closes
/// it, and with the link beneath it.
///
/// May be carried anywhere; every function traps off the loop's thread, except that it may be
/// released on any: then it is closed.
public final class Channel: Sendable {
  /// Who is at the other end.
  public let peer: BluetoothAddress
  /// The PSM that it was opened at, at whichever end that is.
  public let psm: UInt16
  /// The loop that it belongs to.
  public let loop: Loop
  private let core: LoopBound<ChannelCore>

  /// The loop's thread only.
  ///
  /// - Throws: `system` if the socket cannot be watched.
  init(
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

  /// Has `body` called, in turns of the loop, whenever the channel may have become readable or
  /// writable or has ended; soon for the first time. It holds what it captures until the channel
  /// is closed. nil: nobody is called.
  public func whenReady(_ body: ((Readiness) -> Void)?) { core.value.hand(to: body) }

  /// Sends what there is room for, from the beginning of `octets`: at most ``sendLimit`` at a time.
  ///
  /// - Returns: how many were taken; 0: come back when the channel is writable.
  /// - Throws: `LinkError` if the channel has ended.
  public func send(_ octets: RawSpan) throws(LinkError) -> Int {
    try core.value.socket.send(octets)
  }

  /// Appends to `buffer`, which must have room, what has come.
  ///
  /// - Throws: `LinkError` once if the channel was lost rather than closed, ETIMEDOUT for instance;
  ///   from then on `closed` is returned.
  public func receive(into buffer: inout OutputRawSpan) throws(LinkError) -> ChannelReceipt {
    try core.value.socket.receive(into: &buffer)
  }

  /// Octets that one ``send(_:)`` takes at most: on L2CAP those of an SDU that the peer takes.
  public var sendLimit: Int { core.value.socket.sendLimit }

  /// Whether something waits for the peer's credits that a process which ends now would lose.
  public var hasUnsent: Bool { core.value.socket.hasUnsent }

  /// Closes it; more than once does nothing. What was sent before still reaches a peer that
  /// receives it within ten seconds, while the loop
  /// turns.
  public func close() { core.value.close() }

  /// For the radio, whose link has ended: both directions are over.
  var weakCore: WeakChannel { WeakChannel(core: core.value) }
}

/// A channel that the radio remembers and does not hold.
struct WeakChannel {
  weak var core: ChannelCore?
  var isOver: Bool { core?.socket.descriptor == nil }
}
