import ATT
import EventLoop
import GATT

extension LocalServer {
  /// Notifies the clients that have asked for it and whose links have room, and waits for nobody:
  /// one whose link has none goes without this value and is counted in ``Delivered/blocked``. Vol 3,
  /// Part G, 4.10.
  ///
  /// For values of which the newest counts. ``notify(_:_:to:)`` leaves none out, and so waits for
  /// as long as one client does not read: which on Unix sockets and the air may be for ever.
  ///
  /// - Throws: `cancelled`, and nothing else.
  @discardableResult
  public func notifyIfRoom(
    _ handle: AttributeHandle, _ value: [UInt8], to client: ClientID? = nil
  ) async throws(AttoError) -> Delivered {
    try await onLoop { core in
      let targets = core.subscribers(of: handle, .notification, client)
      let (sent, blocked) = core.notify(handle, value.span.bytes, to: targets)
      return Delivered(
        count: sent, failures: targets.count - sent - blocked.count, blocked: blocked.count)
    }
  }
}
