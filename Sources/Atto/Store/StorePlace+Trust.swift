import Atto
import CAttoLinux
import Glibc

/// Whether another user could replace a store, or read it.
///
/// # Theory
/// SQLite trusts the files beside a database: it rolls `-journal` back into it, and applies `-wal`.
/// So whoever can make files in the store's directory, or replace the directory or one above it, can
/// give the store keys of their own. As OpenSSH's StrictModes does, each directory up to the root must
/// belong to this user or to root, and nobody else may write to it; a group that holds only the
/// directory's owner is nobody else. A sticky directory such as /tmp,
/// in which nobody can rename what belongs to others, may be above the store's directory.
///
/// What passed cannot be changed by others afterwards, so paths may be used from then on.
extension StorePlace {
  /// Checks a directory and those above it.
  ///
  /// - Parameter folder: a path without symbolic links.
  static func checkFolders(_ folder: String, user: UInt32) throws(StoreError) {
    var path = folder
    while true {
      guard let status = try status(path) else { throw .missing(path: path) }
      guard status.st_uid == user || status.st_uid == 0 else {
        throw .foreignOwner(path: path, user: status.st_uid)
      }
      let isProtected = path != folder && status.st_mode & S_ISVTX != 0
      let isShared =
        status.st_mode & 0o020 != 0
        && !PrivateGroup.isPrivate(status.st_gid, of: status.st_uid)
      guard status.st_mode & 0o002 == 0 && !isShared || isProtected else {
        throw .writableFolder(path: path, mode: status.st_mode & 0o7777)
      }
      if path == "/" { return }
      path = self.folder(of: path)
    }
  }

  /// Checks the file, and what SQLite may have put beside it.
  static func checkFiles(_ path: String, user: UInt32) throws(StoreError) {
    guard let file = try status(path) else { throw .missing(path: path) }
    guard file.st_mode & S_IFMT == S_IFREG else { throw .notAFile(path: path) }
    guard file.st_uid == user else { throw .foreignOwner(path: path, user: file.st_uid) }
    for path in ["-journal", "-wal", "-shm"].map({ path + $0 }) {
      guard let file = try status(path) else { continue }
      guard file.st_mode & S_IFMT == S_IFREG else { throw .notAFile(path: path) }
      guard file.st_uid == user || file.st_uid == 0 else {
        throw .foreignOwner(path: path, user: file.st_uid)
      }
    }
    // SQLite takes a file shorter than a page for an empty one. With a journal beside it, it is the
    // rest of a first transaction that crashed.
    if file.st_size > 0, file.st_size < 512, access(path + "-journal", F_OK) != 0 {
      throw .foreign(path: path, "is not an SQLite database")
    }
  }

  /// Closes the default directory to others. Returns notices for the user.
  static func closeFolder(_ path: String, user: UInt32) throws(StoreError) -> [String] {
    guard let status = try status(path) else { throw .missing(path: path) }
    guard status.st_uid == user else { throw .foreignOwner(path: path, user: status.st_uid) }
    guard status.st_mode & 0o077 != 0 else { return [] }
    guard chmod(path, 0o700) == 0 else {
      throw .system("closed to others (chmod 700)", path: path + "/", errno: errno)
    }
    return [
      "the store's directory \(path) was open to others (mode"
        + " \(String(status.st_mode & 0o777, radix: 8))); its mode is 700 now"
    ]
  }

  /// Closes a store to others. Called only when the file is known to be a store, so that a file named
  /// by mistake is not changed.
  ///
  /// - Returns: a notice for the user if others could read it.
  static func closeToOthers(_ path: String) throws(StoreError) -> String? {
    guard let status = try status(path) else { throw .missing(path: path) }
    guard status.st_mode & 0o077 != 0 else { return nil }
    guard chmod(path, 0o600) == 0 else {
      throw .system("closed to others (chmod 600)", path: path, errno: errno)
    }
    let mode = String(status.st_mode & 0o777, radix: 8)
    return "the keys in \(path) were readable by others (mode \(mode)); its mode is 600 now. If"
      + " others may have read them, remove the bonds and pair again"
  }

  /// Examines a file, without following a symbolic link; nil if there is none.
  private static func status(_ path: String) throws(StoreError) -> stat? {
    var status = stat()
    let result = clinux_lstat(path, &status)
    if result == 0 { return status }
    guard case .missing = error(-result, path) else { throw error(-result, path) }
    return nil
  }

  static func error(_ errno: Int32, _ path: String) -> StoreError {
    errno == ENOENT || errno == ENOTDIR
      ? .missing(path: path) : .system("examined", path: path, errno: errno)
  }
}
