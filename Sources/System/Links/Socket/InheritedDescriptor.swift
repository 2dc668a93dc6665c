import CAttoLinux
import Glibc

extension SocketLink {
  /// Takes ownership of an inherited descriptor, `fd:N`, which must be a connected SOCK_SEQPACKET
  /// socket, Unix or L2CAP. It is set to close on exec. Its blocking mode, which other processes may
  /// share, does not change.
  ///
  /// Throws ``LinkError`` that names what the descriptor is instead; it stays open then.
  public static func adopt(_ descriptor: Int32) throws(LinkError) -> SocketLink {
    let endpoint = "fd:\(descriptor)"
    var status = stat()
    try LinkError.check(clinux_fstat(descriptor, &status), .adopt, endpoint)
    if let found = FileKind.name(of: status.st_mode, except: S_IFSOCK) {
      throw LinkError(.adopt, .notASocket(found: found), endpoint: endpoint)
    }
    var domain: Int32 = 0
    var type: Int32 = 0
    var listening: Int32 = 0
    try LinkError.check(
      clinux_get_option(descriptor, SOL_SOCKET, SO_DOMAIN, &domain), .adopt, endpoint)
    try LinkError.check(
      clinux_get_option(descriptor, SOL_SOCKET, SO_TYPE, &type), .adopt, endpoint)
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

  /// Makes two connected ends in this process, for tests or to pass one to a child process.
  ///
  /// Throws ``LinkError`` if no sockets can be opened.
  public static func pair(
    options: SocketOptions = SocketOptions()
  ) throws(LinkError) -> (SocketLink, SocketLink) {
    let endpoint = "a socket pair"
    var ends: [Int32] = [-1, -1]
    try LinkError.check(clinux_seqpacket_pair(&ends), .open, endpoint)
    let first = OwnedDescriptor(owning: ends[0])
    let second = OwnedDescriptor(owning: ends[1])
    try options.apply(to: first.rawValue, endpoint: endpoint)
    try options.apply(to: second.rawValue, endpoint: endpoint)
    return (
      SocketLink(first, peerName: "the second end of a socket pair"),
      SocketLink(second, peerName: "the first end of a socket pair")
    )
  }
}
