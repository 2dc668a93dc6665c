import CLinux

/// Waits for peers that open channels at a PSM of this machine, which the kernel chooses.
public final class ChannelListener {
  /// 0x0080 to 0x00FF.
  public let psm: UInt16
  private let endpoint: String
  private var queue: AcceptQueue?

  /// Listens, with up to `backlog` channels waiting.
  ///
  /// Throws ``LinkError`` with EAFNOSUPPORT where there is no Bluetooth, ENODEV for an adapter
  /// that is not there, EINVAL if all PSMs are in use.
  public init(
    source: L2CAPSource = .any, options: ChannelOptions = ChannelOptions(), backlog: Int32 = 16
  ) throws(LinkError) {
    let endpoint = "le:\(source.suffix)"
    let socket = try options.open(source: source, operation: .listen, endpoint: endpoint)
    let result = clinux_listen(socket.rawValue, backlog)
    guard result == 0 else { throw LinkError(.listen, result: result, endpoint: endpoint) }
    let psm = clinux_channel_psm(socket.rawValue)
    guard psm > 0 else { throw LinkError(.listen, result: min(psm, -EINVAL), endpoint: endpoint) }
    self.psm = UInt16(truncatingIfNeeded: psm)
    self.endpoint = endpoint
    queue = AcceptQueue(socket)
  }

  /// What to watch for readiness; nil after ``close()``.
  public var descriptor: Int32? { queue?.descriptor }

  /// The next channel and who has opened it, nil if none waits. One whose peer has gone already is
  /// passed over.
  ///
  /// Throws ``LinkError`` as ``LinkListener/accept()`` does.
  public func accept() throws(LinkError) -> (ChannelSocket, BluetoothAddress)? {
    guard queue != nil else { throw LinkError(.accept, .closed, endpoint: endpoint) }
    while let accepted = try queue!.accept(endpoint: endpoint) {
      guard let peer = L2CAPSocket.peer(of: accepted.rawValue) else { continue }
      return (
        ChannelSocket(accepted, carrier: .l2cap, peerName: "channel \(psm) with \(peer)"), peer
      )
    }
    return nil
  }

  /// Ends listening; more than once does nothing. Channels that stand stay.
  public func close() { queue = nil }
}
