import AttoATT
import AttoGATT
import AttoLinks

/// An enhanced bearer of a connection: an L2CAP channel in enhanced credit-based mode, with a session of
/// its own. Vol 3, Part G, 5.3.
///
/// Its ATT_MTU is that of its channel, which the peer may reconfigure. When it ends, the connection
/// continues, and the values that wait for room go to the bearers that now carry them.
final class EnhancedBearerCore: BearerCore {
  /// The connection, which holds this.
  unowned let connection: ConnectionCore

  init(_ link: any Link, _ session: Session, of connection: ConnectionCore) {
    self.connection = connection
    super.init(
      link, link as? SocketLink, session, on: connection.loop, options: connection.options,
      monitor: connection.sender.monitor, server: connection.server, values: connection.values,
      raising: connection.raising, peerName: connection.peerName, holdsBackPeer: true,
      capacity: connection.options.channelMTU + 1)
    sender.isHeld = connection.sender.isHeld
    recorder = connection.recorder
    bearers = connection.bearers
    isHeldBack = connection.isHeldBack
  }

  /// Callers that wait for room wait for all bearers. After the end the connection may be gone.
  override func flush() {
    super.flush()
    if !hasEnded, connection.awaitsRoom { connection.noteRoom() }
  }

  /// Ends the bearer; its procedures fail if they have not.
  override func finish(_ error: AttoError) {
    guard !hasEnded else { return }
    super.finish(error)
    let bearers = bearers
    self.bearers = nil
    bearers?.remove(self)
    if let backlog = takeBacklog(), !connection.hasEnded { connection.carry(backlog) }
    failConfirmations(connection.end ?? .enhancedBearer(session.bearer.failure ?? .channelEnded))
    if let client = connection.session.client { server?.clientHasRoom(client.id) }
    bearers?.settled(nil)
  }
}
