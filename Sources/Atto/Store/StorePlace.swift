import Atto
import CAttoLinux
import Glibc

/// The path of a store and its permissions.
///
/// Keys are secret: the file has mode 0600, and so has the journal that SQLite puts beside it. A file
/// that others could read is closed to them, with a notice, since they may have read it. The default
/// directory has mode 0700. A directory named by the user is only checked: a user who may write to it
/// could replace the store.
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
  /// - Returns: notices for the user.
  static func prepare(
    _ path: String, isNamed: Bool, creates: Bool
  ) throws(StoreError) -> [String] {
    let folder = self.folder(of: path)
    var notices: [String] = []
    if creates, !isNamed { try makeFolder(folder) }
    try checkFolder(folder, isNamed: isNamed, &notices)
    if creates {
      // SQLite would create it with the permissions that the umask allows.
      let descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
      if descriptor >= 0 {
        _ = close(descriptor)
      } else if errno != EEXIST {
        throw .system("created", path: path, errno: errno)
      }
    }
    try checkFile(path)
    return notices
  }

  private static func folder(of path: String) -> String {
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }

  /// Creates a directory and its parents, for their owner only.
  private static func makeFolder(_ path: String) throws(StoreError) {
    var status = stat()
    if stat(path, &status) == 0 { return }
    if path != "/", path != "." { try makeFolder(folder(of: path)) }
    guard mkdir(path, 0o700) == 0 || errno == EEXIST else {
      throw .system("created", path: path + "/", errno: errno)
    }
  }

  private static func checkFolder(
    _ path: String, isNamed: Bool, _ notices: inout [String]
  ) throws(StoreError) {
    var status = stat()
    // Opening the file reports what is wrong with the directory.
    guard stat(path, &status) == 0 else { return }
    if !isNamed {
      guard status.st_uid == geteuid() else {
        throw .foreignOwner(path: path, user: status.st_uid)
      }
      guard status.st_mode & 0o077 != 0 else { return }
      guard chmod(path, 0o700) == 0 else {
        throw .system("closed to others (chmod 700)", path: path + "/", errno: errno)
      }
      notices.append(
        "the store's directory \(path) was open to others (mode"
          + " \(String(status.st_mode & 0o777, radix: 8))); its mode is 700 now")
    } else if status.st_mode & 0o022 != 0, status.st_mode & S_ISVTX == 0 {
      throw .writableFolder(path: path, mode: status.st_mode & 0o7777)
    }
  }

  private static func checkFile(_ path: String) throws(StoreError) {
    var status = stat()
    guard stat(path, &status) == 0 else {
      throw errno == ENOENT || errno == ENOTDIR
        ? .missing(path: path) : .system("examined", path: path, errno: errno)
    }
    guard status.st_mode & S_IFMT == S_IFREG else { throw .notAFile(path: path) }
    guard status.st_uid == geteuid() else { throw .foreignOwner(path: path, user: status.st_uid) }
    // SQLite takes a file shorter than a page for an empty one. With a journal beside it, it is the
    // rest of a first transaction that crashed.
    if status.st_size > 0, status.st_size < 512, access(path + "-journal", F_OK) != 0 {
      throw .foreign(path: path, "is not an SQLite database")
    }
  }

  /// Closes a store to others. Called only when the file is known to be a store, so that a file named
  /// by mistake is not changed.
  ///
  /// - Returns: a notice for the user if others could read it.
  static func closeToOthers(_ path: String) throws(StoreError) -> String? {
    var status = stat()
    guard stat(path, &status) == 0 else {
      throw .system("examined", path: path, errno: errno)
    }
    guard status.st_mode & 0o077 != 0 else { return nil }
    guard chmod(path, 0o600) == 0 else {
      throw .system("closed to others (chmod 600)", path: path, errno: errno)
    }
    let mode = String(status.st_mode & 0o777, radix: 8)
    return "the keys in \(path) were readable by others (mode \(mode)); its mode is 600 now. If"
      + " others may have read them, remove the bonds and pair again"
  }

  /// Returns the process that holds SQLite's lock on a file, from /proc/locks; nil if unknown.
  /// F_GETLK would need the file opened, and closing it would drop this process's own locks.
  static func holder(of path: String) -> Int32? {
    var status = stat()
    guard stat(path, &status) == 0, let file = fopen("/proc/locks", "re") else { return nil }
    defer { fclose(file) }
    var line = [CChar](repeating: 0, count: 256)
    while fgets(&line, Int32(line.count), file) != nil {
      let end = line.firstIndex(of: 0) ?? line.endIndex
      let text = String(decoding: line[..<end].map { UInt8(bitPattern: $0) }, as: UTF8.self)
      // 1: POSIX ADVISORY WRITE process major:minor:inode start end
      let fields = text.split(whereSeparator: \.isWhitespace)
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
