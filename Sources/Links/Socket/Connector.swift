import CLinux

/// What makes a connection in steps that never wait: to a link, or to a channel.
///
/// ``start()``; if that is in progress, watch ``descriptor`` for writability; then ``finish()``.
/// Dropping the connector gives the attempt up.
public protocol Connector: AnyObject {
  /// What a connection is handed over as.
  associatedtype Connection

  /// What to watch for writability; nil once ``finish()`` has given the connection away.
  var descriptor: Int32? { get }

  /// Begins. Once only.
  ///
  /// Throws ``LinkError`` if the attempt has failed already.
  func start() throws(LinkError) -> ConnectorProgress

  /// Gives the connection if it stands, nil if it is still being made (a wake-up for nothing).
  ///
  /// Throws ``LinkError`` if the attempt has failed.
  func finish() throws(LinkError) -> Connection?
}

/// How far ``Connector/start()`` came. ``Connector/finish()`` is called in either case.
public enum ConnectorProgress: Hashable, Sendable {
  /// The connection stands.
  case connected
  /// It is not known yet: the descriptor becomes writable.
  case inProgress
}

/// What connectors have in common.
enum ConnectorStep {
  /// What poll says of a socket whose connection has come to an outcome, nil before.
  static func outcome(_ socket: Int32, _ endpoint: String) throws(LinkError) -> Int32? {
    let bits = clinux_poll_now(socket)
    guard bits >= 0 else { throw LinkError(.connect, result: bits, endpoint: endpoint) }
    let result = clinux_take_error(socket)
    guard result == 0 else { throw LinkError(.connect, result: result, endpoint: endpoint) }
    return bits & (CLINUX_POLLOUT | CLINUX_POLLHUP | CLINUX_POLLERR) == 0 ? nil : bits
  }
}
