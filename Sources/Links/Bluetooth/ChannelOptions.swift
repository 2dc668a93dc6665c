public import ATT
import CLinux

/// How a channel's socket is set up before it connects or listens.
public struct ChannelOptions: Hashable, Sendable {
  /// The level that the link must have (BT_SECURITY); one that has less is raised to it, by
  /// pairing if need be.
  public var security: SecurityLevel
  /// Octets of the longest SDU that the peer may send (BT_RCVMTU), 23 or more. The kernel grants
  /// credits for one of that length at a time, so longer is faster.
  public var receiveMTU: UInt16

  /// One with these values; its properties say what each means.
  public init(security: SecurityLevel = .low, receiveMTU: UInt16 = 8192) {
    self.security = security
    self.receiveMTU = receiveMTU
  }

  /// A socket that is bound at an LE address, with a PSM of its own. Vol 3, Part A, 4.22.
  func open(
    source: L2CAPSource, operation: LinkError.Operation, endpoint: String
  ) throws(LinkError) -> OwnedDescriptor {
    let result = clinux_stream_socket(AF_BLUETOOTH, BTPROTO_L2CAP)
    guard result >= 0 else { throw LinkError(.open, result: result, endpoint: endpoint) }
    let socket = OwnedDescriptor(owning: result)
    let local = try L2CAPSocket.address(of: source, operation: operation, endpoint: endpoint)
    let bound = clinux_channel_bind(socket.rawValue, local.littleEndian, local.kind.rawValue, 0)
    guard bound == 0 else { throw LinkError(operation, result: bound, endpoint: endpoint) }
    if security > .low {
      let result = clinux_set_security(socket.rawValue, security.rawValue)
      guard result == 0 else {
        throw LinkError(.option("BT_SECURITY"), result: result, endpoint: endpoint)
      }
    }
    let set = clinux_set_bluetooth_mtu(socket.rawValue, BT_RCVMTU, receiveMTU)
    guard set == 0 else { throw LinkError(.option("BT_RCVMTU"), result: set, endpoint: endpoint) }
    return socket
  }
}
