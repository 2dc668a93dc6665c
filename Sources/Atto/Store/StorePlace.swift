import Atto
import CAttoLinux
import Glibc

/// The path of a store and its permissions.
///
/// Keys are secret: the file has mode 0600, and so has the journal that SQLite puts beside it. A file
/// that others could read is closed to them, with a notice, since they may have read it. The default
/// directory has mode 0700. A directory named by the user is only checked.
enum StorePlace {
  /// The environment variable that names the file.
  static let variable = "ATTO_STORE"

  /// Returns the default path, and whether the user has named it; see `StoreFile.usualPath()`.
  static func usualPath(
    user: UInt32 = geteuid(), environment: (String) -> String? = environmentVariable
  ) throws(StoreError) -> (path: String, isNamed: Bool) {
    if let path = environment(variable), !path.isEmpty { return (path, true) }
    if user == 0 { return ("/var/lib/atto/store.sqlite", false) }
    // The XDG base directory specification says to ignore a relative path.
    if let state = environment("XDG_STATE_HOME"), state.hasPrefix("/") {
      return (state + "/atto/store.sqlite", false)
    }
    guard let home = environment("HOME"), home.hasPrefix("/") else { throw .noPlace }
    return (home + "/.local/state/atto/store.sqlite", false)
  }

  static func environmentVariable(_ name: String) -> String? {
    getenv(name).map { String(cString: $0) }
  }

  /// Prepares the directory and the file for SQLite.
  ///
  /// - Parameters:
  ///   - isNamed: whether the user has named the file; then its directory is not changed.
  ///   - creates: whether a missing file is created, empty.
  /// - Returns: the path without symbolic links to directories, which others could redirect, and
  ///   notices for the user.
  static func prepare(
    _ path: String, isNamed: Bool, creates: Bool, user: UInt32 = geteuid()
  ) throws(StoreError) -> (path: String, notices: [String]) {
    var folder = self.folder(of: path)
    if creates, !isNamed { try makeFolder(folder) }
    guard let resolved = realpath(folder, nil) else {
      if creates { throw .system("created", path: path, errno: errno) }
      throw Self.error(errno, path)
    }
    folder = String(cString: resolved)
    free(resolved)
    let notices = isNamed ? [] : try closeFolder(folder, user: user)
    try checkFolders(folder, user: user)
    let name = path.split(separator: "/", omittingEmptySubsequences: false).last ?? ""
    let path = (folder == "/" ? "" : folder) + "/" + name
    if creates {
      // SQLite would create it with the permissions that the umask allows.
      let flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
      let descriptor = open(path, flags, 0o600)
      if descriptor >= 0 {
        _ = close(descriptor)
      } else if errno != EEXIST {
        throw .system("created", path: path, errno: errno)
      }
    }
    try checkFiles(path, user: user)
    return (path, notices)
  }

  static func folder(of path: String) -> String {
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }

  /// Creates a directory and its parents, for their owner only. Their names have reached the disk when
  /// this returns; SQLite syncs only the directory of the file.
  private static func makeFolder(_ path: String) throws(StoreError) {
    var status = stat()
    if stat(path, &status) == 0 { return }
    let parent = folder(of: path)
    if path != "/", path != "." { try makeFolder(parent) }
    guard mkdir(path, 0o700) == 0 || errno == EEXIST else {
      throw .system("created", path: path + "/", errno: errno)
    }
    let descriptor = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { return }
    // Fails where a file system cannot do it, which is no reason not to store.
    _ = fsync(descriptor)
    _ = close(descriptor)
  }

  /// Returns the process that holds SQLite's lock on a file, from /proc/locks; nil if unknown.
  /// F_GETLK would need the file opened, and closing it would drop this process's own locks.
  static func holder(of path: String) -> Int32? {
    var status = stat()
    guard stat(path, &status) == 0 else { return nil }
    for line in PrivateGroup.lines(of: "/proc/locks") {
      // 1: POSIX ADVISORY WRITE process major:minor:inode start end
      let fields = line.split(whereSeparator: \.isWhitespace)
      guard fields.count >= 8, fields[1] == "POSIX", let process = Int32(fields[4]),
        process > 0, process != getpid(),
        let inode = fields[5].split(separator: ":").last.flatMap({ UInt64($0) }),
        inode == UInt64(status.st_ino)
      else { continue }
      return process
    }
    return nil
  }
}
