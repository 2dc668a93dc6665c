import CLinux
import Glibc

extension SocketLink {
  /// Takes over an inherited descriptor, `fd:N`, after checking that it is what a link needs:
  /// a connected SOCK_SEQPACKET socket, Unix or L2CAP. It is set to close on exec; its blocking
  /// mode, which other processes may share, is left alone.
  ///
  /// Throws ``LinkError`` that says what the descriptor is instead; it stays open then.
  public static func adopt(_ descriptor: Int32) throws(LinkError) -> SocketLink {
    let endpoint = "fd:\(descriptor)"
    var status = stat()
    let result = clinux_fstat(descriptor, &status)
    guard result == 0 else { throw LinkError(.adopt, result: result, endpoint: endpoint) }
    if let found = FileKind.name(of: status.st_mode, except: S_IFSOCK) {
      throw LinkError(.adopt, .notASocket(found: found), endpoint: endpoint)
    }
    var domain: Int32 = 0
    var type: Int32 = 0
    var listening: Int32 = 0
    for (option, read) in [
      (SO_DOMAIN, clinux_get_option(descriptor, SOL_SOCKET, SO_DOMAIN, &domain)),
      (SO_TYPE, clinux_get_option(descriptor, SOL_SOCKET, SO_TYPE, &type)),
    ] where read != 0 {
      _ = option
      throw LinkError(.adopt, result: read, endpoint: endpoint)
    }
    _ = clinux_get_option(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &listening)
    func wrong(_ found: String) -> LinkError {
      LinkError(.adopt, .wrongSocket(found: found), endpoint: endpoint)
    }
    guard type == CLINUX_SOCK_SEQPACKET else { throw wrong("a socket of type \(name(type))") }
    guard domain == AF_UNIX || domain == AF_BLUETOOTH else {
      throw wrong("a socket of address family \(domain)")
    }
    guard listening == 0 else { throw wrong("a listening socket") }
    guard clinux_has_peer(descriptor) == 0 else { throw wrong("a socket that is not connected") }
    _ = clinux_set_close_on_exec(descriptor)
    return SocketLink(
      OwnedDescriptor(owning: descriptor), carrier: domain == AF_UNIX ? .unix : .l2cap,
      peerName: endpoint)
  }

  private static func name(_ type: Int32) -> String {
    switch type {
    case CLINUX_SOCK_STREAM: "SOCK_STREAM"
    case CLINUX_SOCK_DGRAM: "SOCK_DGRAM"
    case CLINUX_SOCK_RAW: "SOCK_RAW"
    default: "\(type)"
    }
  }

  /// Two ends of a Unix socket pair in this process: for tests and for handing to a child.
  ///
  /// Throws ``LinkError`` if no sockets can be had.
  public static func pair(
    options: SocketOptions = SocketOptions()
  ) throws(LinkError) -> (SocketLink, SocketLink) {
    var descriptors: (Int32, Int32) = (-1, -1)
    let result = withUnsafeMutableBytes(of: &descriptors) {
      clinux_seqpacket_pair($0.assumingMemoryBound(to: Int32.self).baseAddress!)
    }
    guard result == 0 else { throw LinkError(.open, result: result, endpoint: "a socket pair") }
    let first = OwnedDescriptor(owning: descriptors.0)
    let second = OwnedDescriptor(owning: descriptors.1)
    try options.apply(to: first.rawValue, endpoint: "a socket pair")
    try options.apply(to: second.rawValue, endpoint: "a socket pair")
    return (
      SocketLink(first, peerName: "the second end of a socket pair"),
      SocketLink(second, peerName: "the first end of a socket pair")
    )
  }
}
