import CAttoLinux
import Glibc

/// The address of a Unix socket: `unix:PATH`.
public struct UnixAddress: Hashable, Sendable, CustomStringConvertible {
  /// The path of the socket file.
  public let path: String

  /// Creates an address. The path is checked when it is used.
  public init(path: String) { self.path = path }

  /// The address as a person writes it.
  public var description: String { "unix:\(path)" }

  /// The longest path in bytes: the size of `sun_path` without its terminating zero.
  public static var pathLimit: Int { Int(CLINUX_UNIX_PATH_LIMIT) }

  /// Opens a socket for this address, after checking the path.
  ///
  /// - Parameter isStream: SOCK_STREAM rather than SOCK_SEQPACKET.
  func open(
    _ operation: LinkError.Operation, isStream: Bool = false
  ) throws(LinkError) -> OwnedDescriptor {
    let length = path.utf8.count
    guard length > 0, !path.utf8.contains(0) else {
      throw LinkError(operation, .invalidPath, endpoint: description)
    }
    guard length <= UnixAddress.pathLimit else {
      throw LinkError(
        operation, .pathTooLong(length: length, limit: UnixAddress.pathLimit),
        endpoint: description)
    }
    let opened = isStream ? clinux_stream_socket(AF_UNIX, 0) : clinux_seqpacket_socket(AF_UNIX, 0)
    return OwnedDescriptor(owning: try LinkError.check(opened, .open, description))
  }

  /// Calls connect(2); returns 0 or a negative errno.
  fileprivate func connect(_ socket: Int32) throws(LinkError) -> Int32 {
    let result = clinux_unix_connect(socket, path, path.utf8.count)
    if result == -ECONNREFUSED, let found = kindOfOtherFile() {
      throw LinkError(.connect, .notASocket(found: found), endpoint: description)
    }
    return result
  }

  /// Names the kind of file at the path if it is not a socket; nil for a socket, for no file, or if
  /// it cannot be examined.
  func kindOfOtherFile() -> String? {
    var status = stat()
    guard clinux_lstat(path, &status) == 0 else { return nil }
    return FileKind.name(of: status.st_mode, except: S_IFSOCK)
  }
}

extension SocketConnector where Connection == SocketLink {
  /// Prepares a connection to a Unix socket.
  ///
  /// Throws ``LinkError`` for an invalid path, or if no socket can be opened.
  public convenience init(
    _ address: UnixAddress, options: SocketOptions = SocketOptions()
  ) throws(LinkError) {
    let endpoint = address.description
    let socket = try address.open(.connect)
    try options.apply(to: socket.rawValue, endpoint: endpoint)
    self.init(
      socket, endpoint: endpoint, isRefusedByHangup: false,
      connect: { (socket) throws(LinkError) in try address.connect(socket) },
      wrap: { socket, _ in SocketLink(socket, carrier: .unix, peerName: endpoint) })
  }
}

extension SocketConnector where Connection == ChannelSocket {
  /// Prepares a connection to a Unix socket that carries a stream (SOCK_STREAM).
  ///
  /// Throws ``LinkError`` for an invalid path, or if no socket can be opened.
  public convenience init(stream address: UnixAddress) throws(LinkError) {
    let endpoint = address.description
    self.init(
      try address.open(.connect, isStream: true), endpoint: endpoint, isRefusedByHangup: false,
      connect: { (socket) throws(LinkError) in try address.connect(socket) },
      wrap: { socket, _ in ChannelSocket(socket, carrier: .unix, peerName: endpoint) })
  }
}

/// The names of file kinds in messages.
enum FileKind {
  static func name(of mode: mode_t, except expected: mode_t? = nil) -> String? {
    let kind = mode & S_IFMT
    guard kind != expected else { return nil }
    return switch kind {
    case S_IFREG: "a regular file"
    case S_IFDIR: "a directory"
    case S_IFIFO: "a pipe"
    case S_IFCHR: "a terminal or another device"
    case S_IFBLK: "a block device"
    case S_IFLNK: "a symbolic link"
    case S_IFSOCK: "a socket"
    default: "a descriptor of another kind"
    }
  }
}
