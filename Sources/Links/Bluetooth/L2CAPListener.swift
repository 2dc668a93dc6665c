import CLinux

/// Waits for centrals that connect to this machine's ATT channel (L2CAP CID 4).
///
/// Listening does not advertise. Several sockets may listen, bluetoothd among them; the newest
/// gets the connection. A peer that comes back within some seconds of its disconnection reuses
/// the link, and no new connection is seen here.
public final class L2CAPListener: LinkListener {
  /// The adapters that are listened on.
  public let source: L2CAPSource
  private let options: L2CAPOptions
  private var queue: AcceptQueue?

  /// Listens, with up to `backlog` connections waiting.
  ///
  /// Throws ``LinkError`` with EAFNOSUPPORT where there is no Bluetooth, ENODEV for an adapter
  /// that is not there, EADDRINUSE.
  public init(
    source: L2CAPSource = .any, options: L2CAPOptions = L2CAPOptions(), backlog: Int32 = 16
  ) throws(LinkError) {
    let endpoint = "le:\(source.suffix)"
    let socket = try L2CAPSocket.open(
      source: source, options: options, operation: .listen, endpoint: endpoint)
    let result = clinux_listen(socket.rawValue, backlog)
    guard result == 0 else { throw LinkError(.listen, result: result, endpoint: endpoint) }
    self.source = source
    self.options = options
    queue = AcceptQueue(socket)
  }

  public var descriptor: Int32? { queue?.descriptor }
  public var refused: Int { queue?.refused ?? 0 }
  public var refusal: LinkError? { queue?.refusal }

  /// The next connection; its ``Link/peerName`` is the peer's address.
  public func accept() throws(LinkError) -> SocketLink? {
    let endpoint = "le:\(source.suffix)"
    guard queue != nil else { throw LinkError(.accept, .closed, endpoint: endpoint) }
    guard let accepted = try queue!.accept(endpoint: endpoint) else { return nil }
    // A buffer of the listener does not pass to its connections.
    try options.socket.apply(to: accepted.rawValue, endpoint: endpoint)
    let peer = L2CAPSocket.peer(of: accepted.rawValue)
    return SocketLink(
      accepted, carrier: .l2cap, peerName: peer.map { "le:\($0)" } ?? "a peer of \(endpoint)")
  }

  public func close() { queue = nil }
}
