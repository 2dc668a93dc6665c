import Atto
import CLinux
import Glibc

/// Where a store is, and who else can get at it.
///
/// Keys are for their owner's eyes: the file has mode 0600, and so has the journal that SQLite
/// puts beside it. A file that others could read is mended, and that is told, since they may have
/// read it. The usual folder is made, and kept, at 0700; one that a person names is theirs and
/// only judged: whoever may write there could put another file in the store's place.
enum StorePlace {
  /// The environment's variable that names the file.
  static let variable = "ATTO_STORE"

  /// The path that is used when nobody names one: $ATTO_STORE; for root
  /// /var/lib/atto/store.sqlite; else atto/store.sqlite under $XDG_STATE_HOME or
  /// ~/.local/state.
  static func usualPath(
    user: UInt32 = geteuid(), environment: (String) -> String? = environmentVariable
  ) throws(StoreError) -> (path: String, isNamed: Bool) {
    if let path = environment(variable), !path.isEmpty { return (path, true) }
    if user == 0 { return ("/var/lib/atto/store.sqlite", false) }
    // A relative path there is to be ignored, as the XDG base directory specification says.
    if let state = environment("XDG_STATE_HOME"), state.hasPrefix("/") {
      return (state + "/atto/store.sqlite", false)
    }
    guard let home = environment("HOME"), home.hasPrefix("/") else { throw .noPlace }
    return (home + "/.local/state/atto/store.sqlite", false)
  }

  static func environmentVariable(_ name: String) -> String? {
    getenv(name).map { String(cString: $0) }
  }

  /// Sees to folder and file before SQLite opens it.
  ///
  /// - Parameters:
  ///   - isNamed: whether a person has named the file; its folder is then theirs.
  ///   - creates: whether a file that is missing is made, empty.
  /// - Returns: what a person should know.
  static func prepare(
    _ path: String, isNamed: Bool, creates: Bool
  ) throws(StoreError) -> [String] {
    let folder = self.folder(of: path)
    var notices: [String] = []
    if creates, !isNamed { try makeFolder(folder) }
    try judgeFolder(folder, isNamed: isNamed, &notices)
    if creates {
      // SQLite would make it readable for all that the umask allows.
      let descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
      if descriptor >= 0 {
        _ = close(descriptor)
      } else if errno != EEXIST {
        throw .system("made", path: path, errno: errno)
      }
    }
    try judgeFile(path)
    return notices
  }

  private static func folder(of path: String) -> String {
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }

  /// Makes a folder and those above it, for their owner only.
  private static func makeFolder(_ path: String) throws(StoreError) {
    var status = stat()
    if stat(path, &status) == 0 { return }
    if path != "/", path != "." { try makeFolder(folder(of: path)) }
    guard mkdir(path, 0o700) == 0 || errno == EEXIST else {
      throw .system("given a folder \(path)", path: path + "/", errno: errno)
    }
  }

  private static func judgeFolder(
    _ path: String, isNamed: Bool, _ notices: inout [String]
  ) throws(StoreError) {
    var status = stat()
    // What is wrong with it shows when the file is opened.
    guard stat(path, &status) == 0 else { return }
    if !isNamed {
      guard status.st_uid == geteuid() else {
        throw .foreignOwner(path: path, user: status.st_uid)
      }
      guard status.st_mode & 0o077 != 0 else { return }
      guard chmod(path, 0o700) == 0 else {
        throw .system("given a folder for its owner only", path: path + "/", errno: errno)
      }
      notices.append(
        "the store's folder \(path) was open to others (mode"
          + " \(String(status.st_mode & 0o777, radix: 8))); it is 700 now")
    } else if status.st_mode & 0o022 != 0, status.st_mode & S_ISVTX == 0 {
      throw .writableFolder(path: path, mode: status.st_mode & 0o7777)
    }
  }

  private static func judgeFile(_ path: String) throws(StoreError) {
    var status = stat()
    guard stat(path, &status) == 0 else {
      throw errno == ENOENT || errno == ENOTDIR
        ? .missing(path: path) : .system("examined", path: path, errno: errno)
    }
    guard status.st_mode & S_IFMT == S_IFREG else { throw .notAFile(path: path) }
    guard status.st_uid == geteuid() else { throw .foreignOwner(path: path, user: status.st_uid) }
    // Less than the least page: SQLite would take it for an empty one. With a journal beside it,
    // it is what a crash has left of a first transaction.
    if status.st_size > 0, status.st_size < 512, access(path + "-journal", F_OK) != 0 {
      throw .foreign(path: path, "is no SQLite database")
    }
  }

  /// Closes a store to others. Only once it is known to be one: whoever names another file by
  /// mistake must find it as it was.
  ///
  /// - Returns: what a person should know, if others could read it.
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
    return "the keys in \(path) were open to others (mode \(mode)); it is 600 now. If somebody may"
      + " have read them, unpair and pair anew"
  }

  /// The process that holds SQLite's lock on a file, as the kernel lists it; nil if it is not
  /// known. Opening the file to ask would, closed again, end this process' own locks on it.
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
