import CLinux

/// A Unix socket that waits for connections.
///
/// Two processes that open sockets in one folder take turns, by a lock on the folder: so one
/// never sees the other's socket between bind and listen and takes it for a dead one. A socket
/// file that nobody answers on, left by a process that died, is removed; anything else at the
/// path is left alone.
public final class UnixListener: LinkListener {
  /// How to listen.
  public struct Options: Hashable, Sendable {
    /// The permission bits of the socket file; connecting needs write permission.
    public var mode: UInt32
    /// Connections that may wait to be accepted; the kernel caps it (sysctl
    /// net.core.somaxconn, 4096).
    public var backlog: Int32
    /// Given to each accepted connection.
    public var socket: SocketOptions

    /// One with these values; its properties say what each means.
    public init(
      mode: UInt32 = 0o600, backlog: Int32 = 4096, socket: SocketOptions = SocketOptions()
    ) {
      self.mode = mode
      self.backlog = backlog
      self.socket = socket
    }
  }

  /// Where it listens.
  public let address: UnixAddress
  private let options: Options
  private var queue: AcceptQueue?
  /// The socket file as it was made, so that no other is removed at the end.
  private let file: (device: dev_t, inode: ino_t)?

  /// Listens.
  ///
  /// Throws ``LinkError``: ``LinkError/Reason/alreadyListening``, `notASocket`, `pathTooLong`,
  /// EACCES, ENOENT for a folder that is not there, EAGAIN if the folder's lock cannot be had
  /// for half a second.
  public init(_ address: UnixAddress, options: Options = Options()) throws(LinkError) {
    try address.check(.listen)
    let endpoint = address.description
    let result = clinux_seqpacket_socket(AF_UNIX, 0)
    guard result >= 0 else { throw LinkError(.open, result: result, endpoint: endpoint) }
    let owner = OwnedDescriptor(owning: result)
    let lock = try UnixListener.lockFolder(of: address)
    try UnixListener.bind(owner.rawValue, to: address, mode: options.mode)
    var status = stat()
    file = clinux_lstat(address.path, &status) == 0 ? (status.st_dev, status.st_ino) : nil
    let listening = clinux_listen(owner.rawValue, options.backlog)
    guard listening == 0 else {
      _ = clinux_unlink(address.path)
      throw LinkError(.listen, result: listening, endpoint: endpoint)
    }
    // Held up to here.
    _ = consume lock
    self.address = address
    self.options = options
    queue = AcceptQueue(owner)
  }

  deinit { close() }

  public var descriptor: Int32? { queue?.descriptor }
  public var refused: Int { queue?.refused ?? 0 }
  public var refusal: LinkError? { queue?.refusal }

  public func accept() throws(LinkError) -> SocketLink? {
    guard queue != nil else {
      throw LinkError(.accept, .closed, endpoint: address.description)
    }
    guard let accepted = try queue!.accept(endpoint: address.description) else { return nil }
    try options.socket.apply(to: accepted.rawValue, endpoint: address.description)
    return SocketLink(accepted, carrier: .unix, peerName: "a client of \(address)")
  }

  public func close() {
    guard queue != nil else { return }
    // Removed before it stops listening, so that nobody finds a socket that does not answer.
    var status = stat()
    if let file, clinux_lstat(address.path, &status) == 0,
      (status.st_dev, status.st_ino) == file
    {
      _ = clinux_unlink(address.path)
    }
    queue = nil
  }

  private static func bind(
    _ socket: Int32, to address: UnixAddress, mode: UInt32
  ) throws(LinkError) {
    let path = address.path
    // A socket file gets its descriptor's mode less the umask: never wider than asked, not even
    // for a moment.
    _ = fchmod(socket, mode)
    var result = clinux_unix_bind(socket, path, path.utf8.count)
    if result == -EADDRINUSE {
      try removeDead(address)
      result = clinux_unix_bind(socket, path, path.utf8.count)
    }
    guard result == 0 else {
      throw LinkError(.listen, result: result, endpoint: address.description)
    }
    _ = chmod(path, mode)
  }

  /// Removes a socket file that nobody answers on.
  private static func removeDead(_ address: UnixAddress) throws(LinkError) {
    let endpoint = address.description
    if let found = address.strangerAtPath() {
      throw LinkError(.listen, .notASocket(found: found), endpoint: endpoint)
    }
    let result = clinux_seqpacket_socket(AF_UNIX, 0)
    guard result >= 0 else { throw LinkError(.open, result: result, endpoint: endpoint) }
    let probe = OwnedDescriptor(owning: result)
    switch clinux_unix_connect(probe.rawValue, address.path, address.path.utf8.count) {
    case -ECONNREFUSED:
      let removed = clinux_unlink(address.path)
      guard removed == 0 || removed == -ENOENT else {
        throw LinkError(.listen, result: removed, endpoint: endpoint)
      }
    // Gone in the meantime.
    case -ENOENT: break
    // Connected, a full queue, another type, no permission: somebody is there.
    default: throw LinkError(.listen, .alreadyListening, endpoint: endpoint)
    }
  }

  /// Locks the folder of a socket until the result goes away; nil where it cannot be opened for
  /// reading, and there is no protection then.
  private static func lockFolder(of address: UnixAddress) throws(LinkError) -> OwnedDescriptor? {
    let folder: String
    if let slash = address.path.utf8.lastIndex(of: UInt8(ascii: "/")) {
      let start = address.path[..<slash]
      folder = start.isEmpty ? "/" : String(start)
    } else {
      folder = "."
    }
    let result = clinux_open(folder, O_RDONLY | O_DIRECTORY, 0)
    guard result >= 0 else { return nil }
    let lock = OwnedDescriptor(owning: result)
    // Others hold it for microseconds. Whoever holds it longer must not hang us.
    for attempt in 0..<250 {
      if attempt > 0 { usleep(2000) }
      let locked = clinux_flock(lock.rawValue, LOCK_EX | LOCK_NB)
      if locked == 0 { return lock }
      // A file system without locks.
      guard locked == -EWOULDBLOCK || locked == -EINTR else { return nil }
    }
    throw LinkError(.listen, .system(EWOULDBLOCK), endpoint: address.description)
  }
}
