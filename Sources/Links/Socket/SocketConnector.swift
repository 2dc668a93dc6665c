import CLinux

/// A connection that is being made, in steps that never wait.
///
/// ``start()``; if that is in progress, watch ``descriptor`` for writability; then ``finish()``.
/// Dropping the connector gives the attempt up.
public final class SocketConnector: Connector {
  private enum Target {
    case unix(UnixAddress)
    case l2cap(L2CAPAddress)
  }

  private let target: Target
  private let endpoint: String
  private var owner: OwnedDescriptor?
  private let socket: Int32
  /// L2CAP connects at once only over a connection that is there already.
  private var isNew = false

  /// Prepares a connection to a Unix socket.
  ///
  /// Throws ``LinkError`` for a path that cannot be, or if no socket can be had.
  public init(_ address: UnixAddress, options: SocketOptions = SocketOptions()) throws(LinkError) {
    try address.check(.connect)
    let endpoint = address.description
    let result = clinux_seqpacket_socket(AF_UNIX, 0)
    guard result >= 0 else { throw LinkError(.open, result: result, endpoint: endpoint) }
    let owner = OwnedDescriptor(owning: result)
    try options.apply(to: result, endpoint: endpoint)
    target = .unix(address)
    self.endpoint = endpoint
    socket = result
    self.owner = consume owner
  }

  /// Prepares a connection to a peer's ATT channel.
  ///
  /// Throws ``LinkError`` with EAFNOSUPPORT where there is no Bluetooth, ENODEV for an adapter
  /// that is not there.
  public init(_ address: L2CAPAddress, options: L2CAPOptions = L2CAPOptions()) throws(LinkError) {
    let endpoint = address.description
    let owner = try L2CAPSocket.open(
      source: address.source, options: options, operation: .connect, endpoint: endpoint)
    target = .l2cap(address)
    self.endpoint = endpoint
    socket = owner.rawValue
    self.owner = consume owner
  }

  /// What to watch for writability; nil once ``finish()`` has given the link away.
  public var descriptor: Int32? { owner == nil ? nil : socket }

  /// Begins. Once only.
  ///
  /// Throws ``LinkError`` if the attempt has failed already.
  public func start() throws(LinkError) -> ConnectorProgress {
    precondition(owner != nil, "the connection was made already")
    let result: Int32
    switch target {
    case .unix(let address):
      result = clinux_unix_connect(socket, address.path, address.path.utf8.count)
      if result == -ECONNREFUSED, let found = address.strangerAtPath() {
        throw LinkError(.connect, .notASocket(found: found), endpoint: endpoint)
      }
    case .l2cap(let address):
      result = L2CAPSocket.connect(socket, to: address.peer)
    }
    switch result {
    case 0: return .connected
    case -EINPROGRESS:
      isNew = true
      return .inProgress
    default: throw LinkError(.connect, result: result, endpoint: endpoint)
    }
  }

  /// Gives the link if it stands, nil if it is still being made (a wake-up for nothing).
  ///
  /// Throws ``LinkError`` if the attempt has failed. How long to wait is the caller's decision;
  /// L2CAP itself gives up after 40 s.
  public func finish() throws(LinkError) -> SocketLink? {
    precondition(owner != nil, "the connection was made already")
    guard let bits = try ConnectorStep.outcome(socket, endpoint) else { return nil }
    switch target {
    case .unix:
      // A peer that has closed again already shows when the link is read.
      return SocketLink(owner.take()!, carrier: .unix, peerName: endpoint)
    case .l2cap:
      guard bits & CLINUX_POLLHUP == 0 else {
        throw LinkError(.connect, .system(ECONNREFUSED), endpoint: endpoint)
      }
      return SocketLink(owner.take()!, carrier: .l2cap, isNew: isNew, peerName: endpoint)
    }
  }
}
