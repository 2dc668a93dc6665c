import CAttoLinux

/// Connects a socket without blocking: to a peer's ATT channel, to another channel, or to a Unix
/// socket.
///
/// Call ``start()``; if it returns `inProgress`, wait until ``descriptor`` is writable; then call
/// ``finish()``. Releasing the connector cancels the attempt. How long to wait is the caller's
/// decision; L2CAP itself gives up after 40 s.
public final class SocketConnector<Connection> {
  /// How far ``start()`` got. Call ``finish()`` in either case.
  public enum Progress: Hashable, Sendable {
    /// The connection is established.
    case connected
    /// The outcome is not known yet. The descriptor becomes writable when it is.
    case inProgress
  }

  private let endpoint: String
  private var owner: OwnedDescriptor?
  private let socket: Int32
  /// Whether a hang-up means that the peer refused. A Unix socket hangs up where the peer accepted
  /// and has already closed, which shows when the link is read.
  private let isRefusedByHangup: Bool
  private let connect: (Int32) throws(LinkError) -> Int32
  private let wrap: (consuming OwnedDescriptor, _ isNew: Bool) -> Connection
  /// L2CAP connects at once only over a connection that already exists.
  private var isNew = false

  /// - Parameters:
  ///   - connect: calls connect(2); returns 0 or a negative errno.
  ///   - wrap: makes the connection of the connected socket.
  init(
    _ owner: consuming OwnedDescriptor, endpoint: String, isRefusedByHangup: Bool,
    connect: @escaping (Int32) throws(LinkError) -> Int32,
    wrap: @escaping (consuming OwnedDescriptor, _ isNew: Bool) -> Connection
  ) {
    self.endpoint = endpoint
    self.isRefusedByHangup = isRefusedByHangup
    self.connect = connect
    self.wrap = wrap
    socket = owner.rawValue
    self.owner = consume owner
  }

  /// The descriptor to watch for writability; nil once ``finish()`` has returned the connection.
  public var descriptor: Int32? { owner == nil ? nil : socket }

  /// Starts to connect. Call it once.
  ///
  /// Throws ``LinkError`` if the attempt has failed already.
  public func start() throws(LinkError) -> Progress {
    precondition(owner != nil, "already connected")
    let result = try connect(socket)
    switch result {
    case 0: return .connected
    case -EINPROGRESS:
      isNew = true
      return .inProgress
    default: throw LinkError(.connect, result: result, endpoint: endpoint)
    }
  }

  /// Returns the connection, or nil while it is still being made (a spurious wake-up).
  ///
  /// Throws ``LinkError`` if the attempt has failed, with ECONNREFUSED if nothing listens at the
  /// PSM or the link did not reach the security that the peer requires.
  public func finish() throws(LinkError) -> Connection? {
    precondition(owner != nil, "already connected")
    let bits = try LinkError.check(clinux_poll_now(socket), .connect, endpoint)
    try LinkError.check(clinux_socket_error(socket), .connect, endpoint)
    guard bits & (CLINUX_POLLOUT | CLINUX_POLLHUP | CLINUX_POLLERR) != 0 else { return nil }
    guard !isRefusedByHangup || bits & CLINUX_POLLHUP == 0 else {
      throw LinkError(.connect, .system(ECONNREFUSED), endpoint: endpoint)
    }
    return wrap(owner.take()!, isNew)
  }
}
