public import AttoEventLoop
public import AttoLinks
import Synchronization

/// A new link on its way to the code that will use it.
///
/// A `Link` belongs to one loop and is not `Sendable`. This can be passed between tasks until code
/// on that loop unwraps the link. If the value is released first, the link is closed.
public final class ConnectedLink: Sendable {
  /// The address of the peer.
  public let peer: BluetoothAddress
  /// The name that the peer gave when it connected; empty if it gave none.
  public let peerIdentity: String
  /// Whether this end made the connection.
  public let isCentral: Bool
  /// The loop that the link belongs to.
  public let loop: Loop
  private let link: Mutex<LoopBound<any Link>?>

  package init(
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

  /// Returns the link. Traps off the loop's thread, and the second time.
  public func unwrap() -> any Link {
    guard let link = link.withLock({ $0.take() }) else {
      preconditionFailure("the link to \(peer) was unwrapped before")
    }
    return link.value
  }
}
