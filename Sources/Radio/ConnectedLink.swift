public import EventLoop
public import Links
import Synchronization

/// A link that has just been made, on its way to the one who will drive it.
///
/// A `Link` belongs to one loop and is not `Sendable`; this can be passed between tasks until
/// somebody on that loop takes the link out. If nobody does, the link is closed.
public final class ConnectedLink: Sendable {
  /// The other end's address.
  public let peer: BluetoothAddress
  /// What the other end calls itself; empty if it does not say.
  public let peerIdentity: String
  /// Whether this end made the connection.
  public let isCentral: Bool
  /// The loop that the link belongs to.
  public let loop: Loop
  private let link: Mutex<LoopBound<any Link>?>

  init(
    _ link: any Link, peer: BluetoothAddress, identity: String, isCentral: Bool, loop: Loop
  ) {
    self.peer = peer
    peerIdentity = identity
    self.isCentral = isCentral
    self.loop = loop
    self.link = Mutex(LoopBound(link, loop))
  }

  deinit {
    guard let left = link.withLock({ $0.take() }) else { return }
    loop.execute { left.value.close() }
  }

  /// Gives the link. The loop's thread only; traps elsewhere, and the second time.
  public func take() -> any Link {
    guard let link = link.withLock({ $0.take() }) else {
      preconditionFailure("the link to \(peer) was taken before")
    }
    return link.value
  }
}
