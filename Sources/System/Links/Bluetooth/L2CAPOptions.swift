public import AttoATT
import CAttoLinux

/// How an L2CAP socket is set up before it connects or listens.
public struct L2CAPOptions: Hashable, Sendable {
  /// The security level of the link (BT_SECURITY). A link with less is raised to it, by pairing if
  /// necessary, before the connection is established.
  public var security: SecurityLevel
  /// The longest PDU or SDU that the peer may send, in octets (BT_RCVMTU).
  ///
  /// On the ATT channel the kernel silently drops longer PDUs; nil means 672, enough for an ATT_MTU
  /// of 517. On other channels the kernel grants credits for one SDU of this length at a time, so
  /// longer is faster; nil means 8192, and the minimum is 23.
  public var receiveMTU: UInt16?
  /// The socket's buffers; only for the ATT channel.
  ///
  /// The receive buffer is 4 MB by default, some 5,000 short PDUs, because PDUs that do not fit are
  /// lost. Without CAP_NET_ADMIN the kernel limits it to net.core.rmem_max.
  public var socket: SocketOptions

  /// Creates options; see the properties.
  public init(
    security: SecurityLevel = .low, receiveMTU: UInt16? = nil,
    socket: SocketOptions = SocketOptions(receiveBuffer: 1 << 22)
  ) {
    self.security = security
    self.receiveMTU = receiveMTU
    self.socket = socket
  }

  /// Opens a socket bound to the ATT channel of an adapter.
  func openATT(
    _ source: L2CAPSource, _ operation: LinkError.Operation, _ endpoint: String
  ) throws(LinkError) -> OwnedDescriptor {
    let opened = clinux_seqpacket_socket(AF_BLUETOOTH, BTPROTO_L2CAP)
    let descriptor = try bind(opened, CLINUX_ATT_CID, 0, source, operation, endpoint)
    try socket.apply(to: descriptor.rawValue, endpoint: endpoint)
    try apply(receiveMTU: receiveMTU, to: descriptor.rawValue, endpoint)
    return descriptor
  }

  /// Opens a socket bound to an adapter.
  ///
  /// - Parameter psm: its PSM; 0: the kernel chooses one. Vol 3, Part A, 4.22.
  func openChannel(
    _ source: L2CAPSource, psm: UInt16 = 0, _ operation: LinkError.Operation, _ endpoint: String
  ) throws(LinkError) -> OwnedDescriptor {
    let opened = clinux_stream_socket(AF_BLUETOOTH, BTPROTO_L2CAP)
    let descriptor = try bind(opened, 0, psm, source, operation, endpoint)
    try apply(receiveMTU: receiveMTU ?? 8192, to: descriptor.rawValue, endpoint)
    return descriptor
  }

  /// Opens a socket in enhanced credit-based mode, bound to an adapter.
  ///
  /// - Parameter psm: its PSM; 0 to connect.
  func openEnhanced(
    _ source: L2CAPSource, psm: UInt16 = 0, _ operation: LinkError.Operation, _ endpoint: String
  ) throws(LinkError) -> OwnedDescriptor {
    let opened = clinux_seqpacket_socket(AF_BLUETOOTH, BTPROTO_L2CAP)
    let descriptor = try bind(opened, 0, psm, source, operation, endpoint)
    let mode = clinux_set_channel_mode(opened, UInt8(BT_MODE_EXT_FLOWCTL))
    try LinkError.check(mode, .option("BT_MODE"), endpoint)
    try apply(receiveMTU: receiveMTU, to: descriptor.rawValue, endpoint)
    return descriptor
  }

  private func bind(
    _ opened: Int32, _ cid: UInt16, _ psm: UInt16, _ source: L2CAPSource,
    _ operation: LinkError.Operation, _ endpoint: String
  ) throws(LinkError) -> OwnedDescriptor {
    let descriptor = OwnedDescriptor(owning: try LinkError.check(opened, .open, endpoint))
    let local = try source.localAddress(operation, endpoint)
    let bound = clinux_l2cap_bind(opened, local.littleEndian, local.kind.rawValue, cid, psm)
    try LinkError.check(bound, operation, endpoint)
    if security > .low {
      let result = clinux_set_security(opened, security.rawValue)
      try LinkError.check(result, .option("BT_SECURITY"), endpoint)
    }
    return descriptor
  }

  /// Only before the connection: on a connected socket the kernel answers EISCONN.
  private func apply(
    receiveMTU: UInt16?, to socket: Int32, _ endpoint: String
  ) throws(LinkError) {
    guard let receiveMTU else { return }
    let result = clinux_set_bluetooth_mtu(socket, BT_RCVMTU, receiveMTU)
    try LinkError.check(result, .option("BT_RCVMTU"), endpoint)
  }
}

extension L2CAPSource {
  /// The same adapter by its address, as its links name it. Without a public address it is used with
  /// all others.
  package var byAddress: L2CAPSource {
    guard case .adapter = self else { return self }
    guard let address = try? localAddress(.listen, suffix) else { return .any }
    return .address(address)
  }

  /// The address to bind to. Its kind must be the adapter's own: otherwise the kernel accepts it
  /// and a listener receives nothing.
  fileprivate func localAddress(
    _ operation: LinkError.Operation, _ endpoint: String
  ) throws(LinkError) -> BluetoothAddress {
    switch self {
    case .any: return BluetoothAddress(0)
    case .address(let address): return address
    case .adapter(let index):
      var octets = [UInt8](repeating: 0, count: 6)
      try LinkError.check(clinux_adapter_address(index, &octets), operation, endpoint)
      guard let address = BluetoothAddress(littleEndian: octets, kind: .public),
        address.value != 0
      else { throw LinkError(operation, .noPublicAddress, endpoint: endpoint) }
      return address
    }
  }
}
