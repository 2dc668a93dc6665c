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
  func open(_ operation: LinkError.Operation) throws(LinkError) -> OwnedDescriptor {
    let length = path.utf8.count
    guard length > 0, !path.utf8.contains(0) else {
      throw LinkError(operation, .invalidPath, endpoint: description)
    }
    guard length <= UnixAddress.pathLimit else {
      throw LinkError(
        operation, .pathTooLong(length: length, limit: UnixAddress.pathLimit),
        endpoint: description)
    }
    return OwnedDescriptor(
      owning: try LinkError.check(clinux_seqpacket_socket(AF_UNIX, 0), .open, description))
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
      connect: { (socket) throws(LinkError) in
        let result = clinux_unix_connect(socket, address.path, address.path.utf8.count)
        if result == -ECONNREFUSED, let found = address.kindOfOtherFile() {
          throw LinkError(.connect, .notASocket(found: found), endpoint: endpoint)
        }
        return result
      },
      wrap: { socket, _ in SocketLink(socket, carrier: .unix, peerName: endpoint) })
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
