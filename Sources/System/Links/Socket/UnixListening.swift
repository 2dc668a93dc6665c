import CAttoLinux
import Glibc

extension SocketListener where Connection == SocketLink {
  /// Listens on a Unix socket.
  ///
  /// A socket file on which nothing listens, left by a process that died, is replaced; any other
  /// file at the path is left alone. The file is removed when the listener closes.
  ///
  /// The kernel lets a process connect if it may write to the socket file, and at no time is that
  /// wider than asked for. Root may always connect.
  ///
  /// - Parameters:
  ///   - mode: permission bits of the socket file; nil: 0600, or 0660 with a group.
  ///   - group: the ID of the group of the socket file; nil: the one that the system chooses.
  ///   - backlog: connections that may wait to be accepted, limited by sysctl net.core.somaxconn
  ///     (4096).
  ///   - options: applied to each accepted connection.
  /// - Throws: ``LinkError``: ``LinkError/Reason/alreadyListening``, `notASocket`, `pathTooLong`,
  ///   `belongsToOther`, EACCES, ENOENT for a directory that does not exist, or EPERM for a group of
  ///   which this user is no member.
  public convenience init(
    _ address: UnixAddress, mode: UInt32? = nil, group: UInt32? = nil, backlog: Int32 = 4096,
    options: SocketOptions = SocketOptions()
  ) throws(LinkError) {
    let endpoint = address.description
    let socket = try address.open(.listen)
    let lock = try UnixSocketLock(address)
    let file = try address.bind(
      socket.rawValue, mode: mode ?? (group == nil ? 0o600 : 0o660), group: group)
    let listening = clinux_listen(socket.rawValue, backlog)
    guard listening == 0 else {
      _ = clinux_unlink(address.path)
      throw LinkError(.listen, result: listening, endpoint: endpoint)
    }
    // Held until the socket answers.
    _ = consume lock
    self.init(
      socket, endpoint: endpoint,
      // Removed before the socket stops listening, so that no client finds a dead one.
      willClose: {
        if let file, FileIdentity(address.path) == file { _ = clinux_unlink(address.path) }
      },
      wrap: { (accepted) throws(LinkError) in
        guard !accepted.isDead else { return nil }
        try options.apply(to: accepted.rawValue, endpoint: endpoint)
        return SocketLink(accepted, carrier: .unix, peerName: "a client of \(address)")
      })
  }
}

extension UnixAddress {
  /// Binds a socket, replacing a dead socket file.
  ///
  /// - Returns: the file that was made, so that no other is removed later.
  fileprivate func bind(
    _ socket: Int32, mode: UInt32, group: UInt32?
  ) throws(LinkError) -> FileIdentity? {
    // A socket file gets its descriptor's mode less the umask, so its permissions are at no time
    // wider than requested.
    _ = fchmod(socket, mode & 0o700)
    var result = clinux_unix_bind(socket, path, path.utf8.count)
    if result == -EADDRINUSE {
      try removeDeadSocket()
      result = clinux_unix_bind(socket, path, path.utf8.count)
    }
    try LinkError.check(result, .listen, description)
    let opened = clinux_open_socket_file(path, mode, group.map(Int64.init) ?? -1)
    // Where /proc is missing, the socket is this user's only.
    guard opened == 0 || mode & 0o077 == 0 && group == nil else {
      _ = clinux_unlink(path)
      throw LinkError(.option("the group and mode"), result: opened, endpoint: description)
    }
    return FileIdentity(path)
  }

  /// Removes a socket file on which nothing listens.
  private func removeDeadSocket() throws(LinkError) {
    if let found = kindOfOtherFile() {
      throw LinkError(.listen, .notASocket(found: found), endpoint: description)
    }
    let probe = try open(.listen)
    switch clinux_unix_connect(probe.rawValue, path, path.utf8.count) {
    case -ECONNREFUSED:
      let removed = clinux_unlink(path)
      guard removed == 0 || removed == -ENOENT else {
        try refuseSocketOfOther()
        throw LinkError(.listen, result: removed, endpoint: description)
      }
    // Removed in the meantime.
    case -ENOENT: break
    // No permission: whether a process listens there is not known.
    case -EACCES:
      try refuseSocketOfOther()
      throw LinkError(.listen, .alreadyListening, endpoint: description)
    // Connected, a full queue, another type: a process listens.
    default: throw LinkError(.listen, .alreadyListening, endpoint: description)
    }
  }

  private func refuseSocketOfOther() throws(LinkError) {
    var status = stat()
    guard clinux_lstat(path, &status) == 0, status.st_uid != geteuid() else { return }
    throw LinkError(.listen, .belongsToOther(user: status.st_uid), endpoint: description)
  }
}

/// A lock that is held while a listener is opened. Without it, another process could find the
/// socket file between bind and listen, take it for a dead one and remove it.
///
/// It is a file of its own beside the socket, `PATH.atto-lock`, so that only listeners on the same path
/// compete for it: a lock on the directory could be held by any user who may read the directory.
/// It is never waited for, because its holder is about to listen on the path. Only a file that no
/// other user can open counts: another user could hold the lock of any other for ever.
private struct UnixSocketLock: ~Copyable {
  private let path: String
  private let owner: OwnedDescriptor?

  /// Takes the lock. Where no lock file can be made, another user has made one, or the file system
  /// has no locks, there is no protection.
  ///
  /// Throws ``LinkError`` with `alreadyListening` if the lock is held.
  init(_ address: UnixAddress) throws(LinkError) {
    path = address.path + ".atto-lock"
    // A file that was removed between open and flock locks nothing; its holder has finished.
    for _ in 0..<16 {
      let result = clinux_open(path, O_RDONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0o600)
      guard result >= 0 else {
        owner = nil
        return
      }
      let opened = OwnedDescriptor(owning: result)
      guard Self.isOwn(opened.rawValue) else {
        owner = nil
        return
      }
      switch clinux_flock(opened.rawValue, LOCK_EX | LOCK_NB) {
      case 0:
        guard let file = FileIdentity(opened.rawValue), FileIdentity(path) == file else { continue }
        owner = consume opened
        return
      case -EWOULDBLOCK:
        throw LinkError(.listen, .alreadyListening, endpoint: address.description)
      default:
        _ = clinux_unlink(path)
        owner = nil
        return
      }
    }
    throw LinkError(.listen, .alreadyListening, endpoint: address.description)
  }

  private static func isOwn(_ descriptor: Int32) -> Bool {
    var status = stat()
    return clinux_fstat(descriptor, &status) == 0 && status.st_uid == geteuid()
      && status.st_mode & S_IFMT == S_IFREG && status.st_mode & 0o077 == 0 && status.st_nlink <= 1
  }

  deinit {
    // Removed while it is locked, so that no other process locks a file that is about to be removed.
    if owner != nil { _ = clinux_unlink(path) }
  }
}

/// Tells a file from others that had its path before or have it later.
private struct FileIdentity: Equatable {
  let device: dev_t
  let inode: ino_t

  init?(_ path: String) {
    var status = stat()
    guard clinux_lstat(path, &status) == 0 else { return nil }
    (device, inode) = (status.st_dev, status.st_ino)
  }

  init?(_ descriptor: Int32) {
    var status = stat()
    guard clinux_fstat(descriptor, &status) == 0 else { return nil }
    (device, inode) = (status.st_dev, status.st_ino)
  }
}
