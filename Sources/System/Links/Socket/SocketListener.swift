import CAttoLinux

/// A listening socket: accepts the connections of a Unix socket, of the ATT channel, or of another
/// channel.
///
/// An accept that fails with EMFILE leaves the connection in the queue. With edge-triggered readiness
/// no further event would follow; level-triggered, the loop would spin. So one descriptor is held in
/// reserve: it is closed, the connection is accepted and closed at once, and the reserve is reopened.
public final class SocketListener<Connection> {
  private let endpoint: String
  private var socket: OwnedDescriptor?
  private var reserve: OwnedDescriptor?
  private let wrap: (consuming OwnedDescriptor) throws(LinkError) -> Connection?
  private let willClose: () -> Void

  /// Dead connections that one call of ``accept()`` skips.
  public static var skipLimit: Int { 16 }
  /// Whether the last ``accept()`` returned nil although more connections may wait.
  public private(set) var mayHaveMore = false
  /// Connections that had ended in the queue and were skipped.
  public private(set) var skipped = 0
  /// Connections that were closed because the process had no descriptors left.
  public private(set) var refused = 0
  /// Why the last of them was closed: EMFILE or ENFILE; nil if there was none.
  public private(set) var refusal: LinkError?

  /// - Parameters:
  ///   - wrap: makes a connection of an accepted socket; nil if the peer is already gone.
  ///   - willClose: called once, before the socket is closed.
  package init(
    _ socket: consuming OwnedDescriptor, endpoint: String, willClose: @escaping () -> Void = {},
    wrap: @escaping (consuming OwnedDescriptor) throws(LinkError) -> Connection?
  ) {
    self.endpoint = endpoint
    self.willClose = willClose
    self.wrap = wrap
    self.socket = consume socket
    reserve = Self.openReserve()
  }

  deinit { close() }

  /// The descriptor to watch for readability; nil after ``close()``.
  public var descriptor: Int32? { socket?.rawValue }

  /// Returns the next connection, or nil if none is waiting.
  ///
  /// Connections that ended in the queue are skipped. If the process has no descriptors left, the
  /// connection is accepted with a reserved one and closed at once, so that its peer sees an end
  /// and the listener does not spin; ``refused`` counts these. If even that fails, ``LinkError``
  /// with EMFILE, ENFILE, ENOBUFS or ENOMEM is thrown: try again after a while. After ``skipLimit``
  /// connections that had ended in the queue, nil is returned and ``mayHaveMore`` is set: call it
  /// again in the next turn.
  ///
  /// - Throws: ``LinkError`` as described above, and `closed` after ``close()``.
  public func accept() throws(LinkError) -> Connection? { try accept(calling: clinux_accept) }

  /// - Parameter call: the system call, which a test replaces.
  func accept(calling call: (Int32) -> Int32) throws(LinkError) -> Connection? {
    guard let descriptor else { throw LinkError(.accept, .closed, endpoint: endpoint) }
    mayHaveMore = false
    // More connections die in the queue only under attack; the rest waits for the next turn.
    for _ in 0..<Self.skipLimit {
      let result = call(descriptor)
      switch -result {
      case ...0:
        if let connection = try wrap(OwnedDescriptor(owning: result)) { return connection }
        skipped += 1
      case EAGAIN:
        if reserve == nil { reserve = Self.openReserve() }
        return nil
      // The others are errors of the connection, not of the listener: accept(2) says to retry.
      case EINTR: continue
      case ECONNABORTED, EPROTO, ENETDOWN, EHOSTDOWN, ENETUNREACH, EHOSTUNREACH:
        skipped += 1
      case EMFILE where reserve != nil, ENFILE where reserve != nil:
        guard try refuse(descriptor, result, calling: call) else { return nil }
      default: throw LinkError(.accept, result: result, endpoint: endpoint)
      }
    }
    mayHaveMore = true
    return nil
  }

  /// Accepts a connection with the reserved descriptor and closes it. False if none waits: the kernel
  /// asks for a descriptor before it looks for a connection.
  ///
  /// - Throws: `LinkError` if another thread has got the descriptor that was released.
  private func refuse(
    _ descriptor: Int32, _ reason: Int32, calling call: (Int32) -> Int32
  ) throws(LinkError) -> Bool {
    reserve = nil
    let result = call(descriptor)
    if result >= 0 {
      _ = OwnedDescriptor(owning: result)
      refused += 1
      refusal = LinkError(.accept, result: reason, endpoint: endpoint)
    }
    reserve = Self.openReserve()
    if result == -EMFILE || result == -ENFILE {
      throw LinkError(.accept, result: result, endpoint: endpoint)
    }
    return result != -EAGAIN
  }

  private static func openReserve() -> OwnedDescriptor? {
    let result = clinux_open("/dev/null", O_RDONLY, 0)
    return result >= 0 ? OwnedDescriptor(owning: result) : nil
  }

  /// Stops listening; calling it again does nothing. Accepted connections stay open.
  public func close() {
    guard socket != nil else { return }
    willClose()
    socket = nil
    reserve = nil
  }
}
