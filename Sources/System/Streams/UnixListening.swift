import AttoLinks
import CAttoLinux
import Glibc

/// Stream sockets at Unix paths.
package enum UnixStreams {
  /// Connects to a listener. Does not block.
  ///
  /// - Throws: `LinkError` with the system's reason.
  package static func connect(path: String) throws(LinkError) -> OwnedDescriptor {
    let socket = try open(.connect, path)
    let result = clinux_unix_connect(socket.rawValue, path, path.utf8.count)
    guard result == 0 else {
      throw LinkError(.connect, .system(-result), endpoint: "unix:\(path)")
    }
    return socket
  }

  /// Listens at a path, for this user and root only (mode 0600). The socket file of a listener that
  /// has ended is replaced; any other file is left alone. The file is removed at the end.
  ///
  /// - Throws: `LinkError` with EADDRINUSE if something else is there, or as the system says.
  package static func listen(path: String) throws(LinkError) -> SocketListener<StreamSocket> {
    let endpoint = "unix:\(path)"
    let socket = try open(.listen, path)
    // A socket file gets its descriptor's mode less the umask.
    _ = fchmod(socket.rawValue, 0o600)
    var result = clinux_unix_bind(socket.rawValue, path, path.utf8.count)
    if result == -EADDRINUSE, isDead(path) {
      _ = unlink(path)
      result = clinux_unix_bind(socket.rawValue, path, path.utf8.count)
    }
    if result == 0 { result = clinux_listen(socket.rawValue, 64) }
    guard result == 0 else { throw LinkError(.listen, .system(-result), endpoint: endpoint) }
    return SocketListener(socket, endpoint: endpoint, willClose: { _ = unlink(path) }) {
      StreamSocket($0, peerName: "a program on this machine")
    }
  }

  private static func open(
    _ operation: LinkError.Operation, _ path: String
  ) throws(LinkError) -> OwnedDescriptor {
    let endpoint = "unix:\(path)"
    guard !path.isEmpty, path.utf8.count <= UnixAddress.pathLimit, !path.utf8.contains(0) else {
      throw LinkError(operation, .system(ENAMETOOLONG), endpoint: endpoint)
    }
    let result = clinux_stream_socket(AF_UNIX, 0)
    guard result >= 0 else { throw LinkError(.open, .system(-result), endpoint: endpoint) }
    return OwnedDescriptor(owning: result)
  }

  /// Whether a socket is at the path on which nothing listens.
  private static func isDead(_ path: String) -> Bool {
    var status = stat()
    guard clinux_lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFSOCK,
      let probe = try? open(.connect, path)
    else { return false }
    return clinux_unix_connect(probe.rawValue, path, path.utf8.count) == -ECONNREFUSED
  }
}
