import CLinux
import Glibc

/// Where a Unix socket is: `unix:PATH`.
public struct UnixAddress: Hashable, Sendable, CustomStringConvertible {
  /// The socket's file.
  public let path: String

  /// The path is checked when it is used.
  public init(path: String) { self.path = path }

  /// As a person writes it.
  public var description: String { "unix:\(path)" }

  /// Bytes that a path may have: what `sun_path` holds beside its terminating zero.
  public static var pathLimit: Int { Int(CLINUX_UNIX_PATH_LIMIT) }

  /// Connects at once; a Unix socket never has to wait for the other end.
  ///
  /// Throws ``LinkError``: with ENOENT (no such socket), ECONNREFUSED (nobody listens), EAGAIN
  /// (the listener's queue is full), EACCES, EPROTOTYPE, or a reason of its own for a path that
  /// is too long or leads to something that is not a socket.
  public func connect(options: SocketOptions = SocketOptions()) throws(LinkError) -> SocketLink {
    let connector = try SocketConnector(self, options: options)
    _ = try connector.start()
    guard let link = try connector.finish() else {
      throw LinkError(.connect, .system(EINPROGRESS), endpoint: description)
    }
    return link
  }

  func check(_ operation: LinkError.Operation) throws(LinkError) {
    let length = path.utf8.count
    guard length > 0, !path.utf8.contains(0) else {
      throw LinkError(operation, .invalidPath, endpoint: description)
    }
    guard length <= UnixAddress.pathLimit else {
      throw LinkError(
        operation, .pathTooLong(length: length, limit: UnixAddress.pathLimit),
        endpoint: description)
    }
  }

  /// What is at the path that is not a socket; nil for a socket, for nothing, or if it cannot
  /// be seen.
  func strangerAtPath() -> String? {
    var status = stat()
    guard clinux_lstat(path, &status) == 0 else { return nil }
    return FileKind.name(of: status.st_mode, except: S_IFSOCK)
  }
}

/// What a file is called in messages.
enum FileKind {
  static func name(of mode: mode_t, except expected: mode_t? = nil) -> String? {
    let kind = mode & S_IFMT
    guard kind != expected else { return nil }
    return switch kind {
    case S_IFREG: "a regular file"
    case S_IFDIR: "a folder"
    case S_IFIFO: "a pipe"
    case S_IFCHR: "a terminal or another device"
    case S_IFBLK: "a block device"
    case S_IFLNK: "a symbolic link"
    case S_IFSOCK: "a socket"
    default: "a descriptor that is no file"
    }
  }
}
