import Glibc

/// A file with a command's results: how it is opened, and replaced.
///
/// PDUs may carry keys, so a new file is for its user only, mode 0600. In a folder that others may
/// write to, a name may be a trap: symbolic links to files are not followed, and files of other users
/// and files with several names are refused. Pipes, devices and standard streams are written as they
/// are.
package enum WrittenFile {
  /// What a path leads to.
  private enum Target {
    case missing
    case file(stat)
    /// A pipe or a device, perhaps behind a symbolic link.
    case device
    /// An open file of this process, such as /dev/stdout.
    case descriptor

    var followsLinks: Bool {
      switch self {
      case .missing, .file: false
      case .device, .descriptor: true
      }
    }
  }

  /// Opens a file for writing, and creates it if it is missing. Its content and mode do not change.
  ///
  /// - Parameter waits: whether to wait for the reader of a FIFO.
  /// - Returns: nil for a FIFO without a reader, without `waits`.
  package static func open(_ path: String, waits: Bool = false) throws(FileError) -> Int32? {
    let target = try target(path)
    var flags = O_WRONLY | O_CREAT | O_CLOEXEC | (target.followsLinks ? 0 : O_NOFOLLOW)
    if !waits { flags |= O_NONBLOCK }
    let descriptor = Glibc.open(path, flags, 0o600)
    if descriptor < 0, errno == ENXIO, isPipe(path) { return nil }
    guard descriptor >= 0 else { throw .cannot("write", path, errno: errno) }
    // The path may lead elsewhere by now.
    var status = stat()
    if case .descriptor = target { return descriptor }
    do throws(FileError) {
      guard fstat(descriptor, &status) == 0 else { throw .cannot("write", path, errno: errno) }
      try check(status, path)
    } catch {
      close(descriptor)
      throw error
    }
    return descriptor
  }

  /// Checks that a file can be written, without changing it: before the work rather than after it.
  package static func check(_ path: String) throws(FileError) {
    let isNew: Bool
    switch try target(path) {
    case .missing: isNew = true
    case .file: isNew = false
    // Opening a pipe would wait for its reader, and closing it would end the reader's input.
    case .device, .descriptor:
      guard access(path, W_OK) == 0 else { throw .cannot("write", path, errno: errno) }
      return
    }
    if let descriptor = try open(path) { close(descriptor) }
    if isNew { unlink(path) }
  }

  /// Replaces the content of a file. If that fails, or the command is killed meanwhile, a regular file
  /// keeps its former content. Its owner and mode remain.
  package static func write(_ text: String, to path: String) throws(FileError) {
    let octets = Array(text.utf8)
    switch try target(path) {
    case .missing: if try replace(path, nil, octets) { return }
    case .file(let status): if try replace(path, status, octets) { return }
    case .device, .descriptor:
      try queue(path).append(octets, mayDrop: false)
      return
    }
    guard let descriptor = try open(path) else { throw .cannot("write", path, errno: ENXIO) }
    _ = ftruncate(descriptor, 0)
    if let errno = write(octets, closing: descriptor) { throw .cannot("write", path, errno: errno) }
  }

  /// A queue for a pipe or device, which may take long.
  private static func queue(_ path: String) throws(FileError) -> OutputQueue {
    let descriptor = try open(path)
    if descriptor == nil { noteWaiting(path) }
    return OutputQueue(
      open: { descriptor ?? openWhenRead(path) },
      onDropped: { _ in Terminal.failed("cannot write \(path): nobody reads it") },
      onFailure: { Terminal.failed(FileError.cannot("write", path, errno: $0).message) })
  }

  /// Waits for the reader of a FIFO. Returns its descriptor or -errno.
  package static func openWhenRead(_ path: String) -> Int32 {
    do throws(FileError) {
      return try open(path, waits: true) ?? -ENXIO
    } catch {
      return -EACCES
    }
  }

  /// Says that a FIFO has no reader yet.
  package static func noteWaiting(_ path: String) { Terminal.note("nobody reads \(path) yet") }

  private static func isPipe(_ path: String) -> Bool {
    var status = stat()
    return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFIFO
  }

  /// Closes a regular file of this user to others. Returns the `errno` of a failure.
  package static func closeToOthers(_ descriptor: Int32) -> Int32? {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { return errno }
    guard status.st_mode & S_IFMT == S_IFREG, status.st_mode & 0o077 != 0 else { return nil }
    return fchmod(descriptor, 0o600) == 0 ? nil : errno
  }

  private static func target(_ path: String) throws(FileError) -> Target {
    if ["/dev/stdout", "/dev/stderr"].contains(path) || path.hasPrefix("/dev/fd/")
      || path.hasPrefix("/proc/")
    {
      return .descriptor
    }
    var status = stat()
    // Opening the file reports what else is wrong.
    guard lstat(path, &status) == 0 else { return .missing }
    if status.st_mode & S_IFMT == S_IFLNK {
      let isTrusted = [geteuid(), 0].contains(status.st_uid)
      guard isTrusted, stat(path, &status) == 0, status.st_mode & S_IFMT != S_IFREG else {
        throw FileError(
          message: "cannot write \(path): it is a symbolic link", hint: "name the file itself")
      }
    }
    guard status.st_mode & S_IFMT != S_IFDIR else { throw .cannot("write", path, errno: EISDIR) }
    try check(status, path)
    return status.st_mode & S_IFMT == S_IFREG ? .file(status) : .device
  }

  /// Refuses a file or pipe through which another user could read or redirect what is written.
  private static func check(_ status: stat, _ path: String) throws(FileError) {
    let isFile = status.st_mode & S_IFMT == S_IFREG
    guard isFile || status.st_mode & S_IFMT == S_IFIFO else { return }
    var folder = stat()
    let isShared = stat(self.folder(of: path), &folder) != 0 || folder.st_mode & 0o022 != 0
    let isForeign = status.st_uid != geteuid()
    if isForeign, isShared || isFile && geteuid() != 0 {
      throw FileError(
        message: "cannot write \(path): it belongs to user \(status.st_uid)",
        hint: "choose another name")
    }
    if isShared, isFile, status.st_nlink > 1 {
      throw FileError(
        message: "cannot write \(path): the file has several names (hard links)",
        hint: "choose another name")
    }
  }

  private static func folder(of path: String) -> String {
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return String(path[...slash])
  }

  /// Writes a new file beside the old one, and gives it the name of the old one. False if this user may
  /// not do that in this folder.
  private static func replace(
    _ path: String, _ old: stat?, _ octets: [UInt8]
  ) throws(FileError) -> Bool {
    let number = UInt32.random(in: .min ... .max)
    let temporary = folder(of: path) + "/.atto-\(getpid())-\(number)"
    let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
    let descriptor = Glibc.open(temporary, flags, 0o600)
    var failure: Int32? = descriptor < 0 ? errno : nil
    if descriptor >= 0 {
      if let old {
        let isGiven = fchown(descriptor, old.st_uid, old.st_gid) == 0
        _ = fchmod(descriptor, old.st_mode & (isGiven ? 0o777 : 0o700))
      }
      failure = write(octets, closing: descriptor)
      if failure == nil, rename(temporary, path) != 0 { failure = errno }
      if failure != nil { unlink(temporary) }
    }
    switch failure {
    case nil: return true
    case EACCES, EPERM, EROFS, EBUSY: return false
    case let errno?: throw .cannot("write", path, errno: errno)
    }
  }

  /// Writes and closes. Returns the `errno` of a failure.
  private static func write(_ octets: [UInt8], closing descriptor: Int32) -> Int32? {
    var rest = octets[...]
    var failure: Int32?
    while !rest.isEmpty, failure == nil {
      let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if count > 0 { rest = rest.dropFirst(count) } else if errno != EINTR { failure = errno }
    }
    // A file system on a network reports a full disk here.
    return close(descriptor) != 0 && failure == nil ? errno : failure
  }
}
