import CLinux

/// A channel to a peer's PSM that is being made. The kernel uses the link that there is, and makes
/// one where there is none.
public final class ChannelConnector: Connector {
  private let address: L2CAPAddress
  private let psm: UInt16
  private let endpoint: String
  private var owner: OwnedDescriptor?
  private let socket: Int32

  /// Throws ``LinkError`` with EAFNOSUPPORT where there is no Bluetooth, ENODEV for an adapter that
  /// is not there, EADDRINUSE if all PSMs of this machine are in use.
  public init(
    _ address: L2CAPAddress, psm: UInt16, options: ChannelOptions = ChannelOptions()
  ) throws(LinkError) {
    let endpoint = "channel \(psm) of \(address)"
    let owner = try options.open(source: address.source, operation: .connect, endpoint: endpoint)
    self.address = address
    self.psm = psm
    self.endpoint = endpoint
    socket = owner.rawValue
    self.owner = consume owner
  }

  public var descriptor: Int32? { owner == nil ? nil : socket }

  public func start() throws(LinkError) -> ConnectorProgress {
    precondition(owner != nil, "the connection was made already")
    let peer = address.peer
    let result = clinux_channel_connect(socket, peer.littleEndian, peer.kind.rawValue, psm)
    switch result {
    case 0: return .connected
    case -EINPROGRESS: return .inProgress
    default: throw LinkError(.connect, result: result, endpoint: endpoint)
    }
  }

  /// Throws ``LinkError`` with ECONNREFUSED if nobody listens at the PSM, or the peer wants a
  /// security that the link did not get.
  public func finish() throws(LinkError) -> ChannelSocket? {
    precondition(owner != nil, "the connection was made already")
    guard let bits = try ConnectorStep.outcome(socket, endpoint) else { return nil }
    guard bits & CLINUX_POLLHUP == 0 else {
      throw LinkError(.connect, .system(ECONNREFUSED), endpoint: endpoint)
    }
    return ChannelSocket(owner.take()!, carrier: .l2cap, peerName: endpoint)
  }
}
