public import ATT
import CLinux

/// How an L2CAP socket is set up before it connects or listens.
public struct L2CAPOptions: Hashable, Sendable {
  /// The level that a connection must have before it counts as one (BT_SECURITY).
  public var security: SecurityLevel
  /// Octets of the longest PDU that the kernel lets in (BT_RCVMTU); longer ones it drops
  /// without a word. Nil: 672, enough for an ATT_MTU of 517.
  public var receiveMTU: UInt16?
  /// The buffers of the socket.
  public var socket: SocketOptions

  /// The receive buffer is 4 MB unless said otherwise, since what does not fit is lost: some
  /// 5,000 short PDUs. Without the privilege the kernel keeps it within net.core.rmem_max.
  public init(
    security: SecurityLevel = .low, receiveMTU: UInt16? = nil,
    socket: SocketOptions = SocketOptions(receiveBuffer: 1 << 22)
  ) {
    self.security = security
    self.receiveMTU = receiveMTU
    self.socket = socket
  }
}

/// What connecting and listening on L2CAP have in common.
enum L2CAPSocket {
  /// A socket that is bound to its radio and to CID 4, with its options set.
  static func open(
    source: L2CAPSource, options: L2CAPOptions, operation: LinkError.Operation, endpoint: String
  ) throws(LinkError) -> OwnedDescriptor {
    let result = clinux_seqpacket_socket(AF_BLUETOOTH, BTPROTO_L2CAP)
    guard result >= 0 else { throw LinkError(.open, result: result, endpoint: endpoint) }
    let socket = OwnedDescriptor(owning: result)
    let local = try address(of: source, operation: operation, endpoint: endpoint)
    let bound = clinux_l2cap_bind(socket.rawValue, local.littleEndian, local.kind.rawValue)
    guard bound == 0 else { throw LinkError(operation, result: bound, endpoint: endpoint) }
    try options.socket.apply(to: socket.rawValue, endpoint: endpoint)
    if options.security > .low {
      let result = clinux_set_security(socket.rawValue, options.security.rawValue)
      guard result == 0 else {
        throw LinkError(.option("BT_SECURITY"), result: result, endpoint: endpoint)
      }
    }
    if let mtu = options.receiveMTU {
      // Only before the connection; on a connected socket it is EISCONN.
      let result = clinux_set_bluetooth_mtu(socket.rawValue, BT_RCVMTU, mtu)
      guard result == 0 else {
        throw LinkError(.option("BT_RCVMTU"), result: result, endpoint: endpoint)
      }
    }
    return socket
  }

  static func connect(_ socket: Int32, to peer: BluetoothAddress) -> Int32 {
    clinux_l2cap_connect(socket, peer.littleEndian, peer.kind.rawValue)
  }

  /// The peer of a connected socket: its identity, as soon as the kernel knows that.
  static func peer(of socket: Int32) -> BluetoothAddress? {
    address { clinux_l2cap_peer(socket, $0, $1) }
  }

  /// The adapter of a connected socket.
  static func own(of socket: Int32) -> BluetoothAddress? {
    address { clinux_l2cap_own(socket, $0, $1) }
  }

  private static func address(
    _ ask: (UnsafeMutablePointer<UInt8>, UnsafeMutablePointer<UInt8>) -> Int32
  ) -> BluetoothAddress? {
    var octets = [UInt8](repeating: 0, count: 6)
    var kind: UInt8 = 0
    guard ask(&octets, &kind) == 0,
      let known = BluetoothAddress.Kind(rawValue: kind)
    else { return nil }
    return BluetoothAddress(littleEndian: octets, kind: known)
  }

  /// What to bind to. The kind must be the adapter's own, or a listener silently gets nothing.
  static func address(
    of source: L2CAPSource, operation: LinkError.Operation, endpoint: String
  ) throws(LinkError) -> BluetoothAddress {
    switch source {
    case .any: return BluetoothAddress(0)
    case .address(let address): return address
    case .adapter(let index):
      var octets = [UInt8](repeating: 0, count: 6)
      let result = clinux_adapter_address(index, &octets)
      guard result == 0 else { throw LinkError(operation, result: result, endpoint: endpoint) }
      guard let address = BluetoothAddress(littleEndian: octets, kind: .public),
        address.value != 0
      else { throw LinkError(operation, .noPublicAddress, endpoint: endpoint) }
      return address
    }
  }
}
