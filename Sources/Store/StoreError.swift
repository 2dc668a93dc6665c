import Atto
import Glibc

/// Why something could not be kept, or found again. Every text names the file and says what to
/// do.
public enum StoreError: Error, Equatable, Sendable {
  /// SQLite's library is not there, or not whole: what the system says of it.
  case libraryMissing(String)
  /// Neither $XDG_STATE_HOME nor $HOME says where the store should be.
  case noPlace
  /// There is no such file, and none was to be made.
  case missing(path: String)
  /// A system call failed: what was to be done, to what, and the `errno`.
  case system(String, path: String, errno: Int32)
  /// The path leads to something that is no file.
  case notAFile(path: String)
  /// The file, or the folder it is in, belongs to another user.
  case foreignOwner(path: String, user: UInt32)
  /// Others may write to the folder, and so put another file in the store's place: its
  /// permission bits.
  case writableFolder(path: String, mode: UInt32)
  /// The file is not a store of Atto's: what it is.
  case foreign(path: String, String)
  /// The file was one, and is damaged: what SQLite says.
  case corrupt(path: String, String)
  /// A later version of Atto has written the file.
  case newer(path: String, version: Int64)
  /// Another process held the file for longer than ``StoreFile/busyTime``; its number, if the
  /// system tells.
  case busy(path: String, process: Int32?)
  /// There is no room left for it on the disk. What was kept before is there still.
  case full(path: String)
  /// It can be read but not changed: this user may not write to it or its folder, or the file
  /// system is mounted read-only.
  case readOnly(path: String)
  /// SQLite failed in another way: its code and its words.
  case sqlite(path: String, code: Int32, String)
  /// The adapter has as many bonds as ``StoreFile/bondLimit`` allows.
  case tooManyBonds(limit: Int)
  /// No signature key of ours is kept for the peer.
  case noSigningKey(BluetoothAddress)
  /// The link is not one between radios: no bond hangs on it.
  case noAddress(peer: String)
  /// All counters of the signature key are used up.
  case countersExhausted(BluetoothAddress)
}

extension StoreError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .libraryMissing(let reason):
      "keeping bonds and databases wants SQLite's library, and it cannot be loaded: \(reason)"
        + " (on Debian: sudo apt-get install libsqlite3-0; or go without: --no-store)"
    case .noPlace:
      "there is no place for the store: neither $XDG_STATE_HOME nor $HOME is set;"
        + " name a file with $ATTO_STORE or --store"
    case .missing(let path): "there is no store \(path) yet; the first bond makes it"
    case .system(let operation, let path, let errno):
      "the store \(path) cannot be \(operation): \(Self.text(errno))"
    case .notAFile(let path): "the store \(path) is no file; name another with --store"
    case .foreignOwner(let path, let user):
      "\(path) belongs to user \(user), so the store is not used: work as that user, or name"
        + " another file with --store"
    case .writableFolder(let path, let mode):
      "others may write to \(path) (mode \(String(mode, radix: 8))) and could put another store"
        + " in place: chmod go-w it, or name another file with --store"
    case .foreign(let path, let what):
      "\(path) \(what): it is left as it is; name another file with --store"
    case .corrupt(let path, let what):
      "the store \(path) is damaged (\(what)): it is left as it is; move it away and pair anew,"
        + " or try sqlite3's .recover on a copy"
    case .newer(let path, let version):
      "the store \(path) was written by a newer atto (schema \(version), this one knows"
        + " \(StoreFile.schemaVersion)): use that one, or name another file with --store"
    case .busy(let path, let process):
      "the store \(path) is held by " + (process.map { "process \($0)" } ?? "another process")
        + " and was not free within \(StoreFile.busyTime): try again when it has ended"
    case .full(let path):
      "there is no room on the disk for the store \(path): make some; what was kept before is there"
        + " still"
    case .readOnly(let path):
      "the store \(path) can be read but not changed: make it and its folder writable for this"
        + " user, on a file system that is (mount -o remount,rw), or name another file with --store"
    case .sqlite(let path, let code, let what):
      "the store \(path) cannot be used: \(what) (SQLite's error \(code))"
    case .tooManyBonds(let limit):
      "the adapter has \(limit) bonds already; remove one: atto bonds --remove ADDRESS"
    case .noSigningKey(let peer):
      "no key to sign with is kept for \(peer): pair first (atto pair), or give --key and"
        + " --counter; not every peer agrees to signing"
    case .noAddress(let peer):
      "\(peer) has no address, and so no bond: give --key and --counter to sign"
    case .countersExhausted(let peer):
      "the key for \(peer) has signed all it can: unpair and pair anew"
    }
  }

  private static func text(_ number: Int32) -> String {
    // strerror's buffer is read before anything else can run on this thread.
    strerror(number).map { String(cString: $0) } ?? "error \(number)"
  }
}
