import CAttoLinux

/// The sizes of a socket's buffers in the kernel.
public struct SocketOptions: Hashable, Sendable {
  /// Bytes that may wait to be sent (SO_SNDBUF), as the kernel counts them: some 700 for each
  /// short PDU. A smaller buffer means a shorter queue; 4096 allows about 9 PDUs of 23 octets on
  /// L2CAP. Nil: the kernel's default. The kernel applies limits of its own.
  public var sendBuffer: Int32?
  /// Bytes that may wait to be received (SO_RCVBUFFORCE, or SO_RCVBUF without CAP_NET_ADMIN). On
  /// L2CAP the kernel silently drops PDUs that do not fit, so it should be large.
  public var receiveBuffer: Int32?

  /// Creates options; see the properties.
  public init(sendBuffer: Int32? = nil, receiveBuffer: Int32? = nil) {
    self.sendBuffer = sendBuffer
    self.receiveBuffer = receiveBuffer
  }

  package func apply(to descriptor: Int32, endpoint: String) throws(LinkError) {
    if let size = sendBuffer {
      let result = clinux_set_option(descriptor, SOL_SOCKET, SO_SNDBUF, size)
      try LinkError.check(result, .option("SO_SNDBUF"), endpoint)
    }
    if let size = receiveBuffer {
      var result = clinux_set_option(descriptor, SOL_SOCKET, SO_RCVBUFFORCE, size)
      if result != 0 { result = clinux_set_option(descriptor, SOL_SOCKET, SO_RCVBUF, size) }
      try LinkError.check(result, .option("SO_RCVBUF"), endpoint)
    }
  }
}
