import CLinux

/// The sizes of a socket's buffers in the kernel.
public struct SocketOptions: Hashable, Sendable {
  /// Bytes that may wait to be sent (SO_SNDBUF), as the kernel counts them: some 700 for each
  /// short PDU. Smaller means less waiting in the queue; 4096 leaves about 9 PDUs of 23 bytes in
  /// flight on L2CAP. Nil: the kernel's default. The kernel keeps it within its own limits.
  public var sendBuffer: Int32?
  /// Bytes that may wait to be received (SO_RCVBUFFORCE, or SO_RCVBUF without the privilege).
  /// On L2CAP what does not fit is lost without a trace, so it should be large.
  public var receiveBuffer: Int32?

  /// One with these values; its properties say what each means.
  public init(sendBuffer: Int32? = nil, receiveBuffer: Int32? = nil) {
    self.sendBuffer = sendBuffer
    self.receiveBuffer = receiveBuffer
  }

  package func apply(to descriptor: Int32, endpoint: String) throws(LinkError) {
    if let size = sendBuffer {
      let result = clinux_set_option(descriptor, SOL_SOCKET, SO_SNDBUF, size)
      guard result == 0 else {
        throw LinkError(.option("SO_SNDBUF"), result: result, endpoint: endpoint)
      }
    }
    if let size = receiveBuffer {
      var result = clinux_set_option(descriptor, SOL_SOCKET, SO_RCVBUFFORCE, size)
      if result != 0 { result = clinux_set_option(descriptor, SOL_SOCKET, SO_RCVBUF, size) }
      guard result == 0 else {
        throw LinkError(.option("SO_RCVBUF"), result: result, endpoint: endpoint)
      }
    }
  }
}
