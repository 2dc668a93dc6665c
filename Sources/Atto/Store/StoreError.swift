import Atto
import CAttoSQLite
import Glibc

/// An error of a store. Descriptions name the file.
@nonexhaustive public enum StoreError: Error, Equatable, Sendable {
  /// SQLite's library is missing or incomplete; the text is the system's.
  case libraryMissing(String)
  /// There is no default path, because neither $XDG_STATE_HOME nor $HOME is set.
  case noPlace
  /// The file is missing and was not to be created.
  case missing(path: String)
  /// A system call failed: the intended operation as a participle, the path, and the `errno`.
  case system(String, path: String, errno: Int32)
  /// The path is not that of a regular file; symbolic links are not followed.
  case notAFile(path: String)
  /// The file, a file beside it, or a directory above it belongs to another user.
  case foreignOwner(path: String, user: UInt32)
  /// Other users may write to a directory above the file, and so replace the store; with its
  /// permission bits. A sticky directory such as /tmp is refused only if it holds the file itself.
  case writableFolder(path: String, mode: UInt32)
  /// The file is not a store; the text says what it is.
  case foreign(path: String, String)
  /// The store is damaged; the text says how.
  case corrupt(path: String, String)
  /// One record of the store is damaged, and not used; the text names it. The others are intact.
  case damagedRecord(path: String, String)
  /// A later version of Atto wrote the file.
  case newer(path: String, version: Int64)
  /// Another process held the file for longer than ``StoreFile/busyTime``; with its number, if the
  /// system reports it.
  case busy(path: String, process: Int32?)
  /// The disk is full. Records stored before are intact.
  case full(path: String)
  /// The store cannot be changed: this user may not write to the file or its directory, or the file
  /// system is mounted read-only.
  case readOnly(path: String)
  /// SQLite failed in another way; with its code and message.
  case sqlite(path: String, code: Int32, String)
  /// The adapter already has ``StoreFile/bondLimit`` bonds.
  case tooManyBonds(limit: Int)
  /// No signature key of this end is stored for the peer.
  case noSigningKey(BluetoothAddress)
  /// The link is not between radios, so there is no bond.
  case noAddress(peer: String)
  /// All counters of the signature key are used.
  case countersExhausted(BluetoothAddress)
}

extension StoreError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .libraryMissing(let reason): "cannot load SQLite's library: \(reason)"
    case .noPlace: "no default path for the store: neither $XDG_STATE_HOME nor $HOME is set"
    case .missing(let path): "no such store: \(path)"
    case .system(let operation, let path, let errno):
      "the store \(path) cannot be \(operation): \(Self.text(errno))"
    case .notAFile(let path): "\(path) is not a regular file"
    case .foreignOwner(let path, let user): "\(path) belongs to user \(user)"
    case .writableFolder(let path, let mode):
      "other users may write to \(path) (mode \(String(mode, radix: 8))) and replace the store"
    case .foreign(let path, let text): "\(path) \(text); it was not changed"
    case .corrupt(let path, let text): "the store \(path) is damaged (\(text)); it was not changed"
    case .damagedRecord(let path, let text):
      "\(text) in \(path) is damaged and is not used; all others are intact"
    case .newer(let path, let version):
      "the store \(path) was written by a newer version (schema \(version), this one knows"
        + " \(StoreFile.schemaVersion))"
    case .busy(let path, let process):
      "the store \(path) is locked by " + (process.map { "process \($0)" } ?? "another process")
        + " and was not free within \(StoreFile.busyTime)"
    case .full(let path): "no space left on the disk for the store \(path)"
    case .readOnly(let path): "the store \(path) is read-only"
    case .sqlite(let path, CSQLITE_NOMEM, _): "not enough memory to use the store \(path)"
    case .sqlite(let path, CSQLITE_IOERR, _):
      "the disk reports an error for the store \(path) or its journal"
    case .sqlite(let path, CSQLITE_CANTOPEN, _):
      "the store \(path) or its journal cannot be opened"
    case .sqlite(let path, let code, let text):
      "cannot use the store \(path): \(text) (SQLite error \(code))"
    case .tooManyBonds(let limit): "too many bonds: the limit of an adapter is \(limit)"
    case .noSigningKey(let peer): "no signing key is stored for \(peer)"
    case .noAddress(let peer): "\(peer) has no Bluetooth address, and so no bond"
    case .countersExhausted(let peer): "the signing key for \(peer) has no counters left"
    }
  }

  /// How a person can resolve the error, if there is a likely way.
  public var hint: String? {
    switch self {
    case .libraryMissing: "sudo apt-get install libsqlite3-0"
    case .noPlace: "name a file with $ATTO_STORE"
    case .missing: "the first bond creates it"
    case .notAFile, .foreign: "name another file"
    case .foreignOwner: "work as that user, or name a file in a directory of your own"
    case .writableFolder(_, let mode) where mode & S_ISVTX != 0:
      "name a file in a directory of your own"
    case .writableFolder(let path, _):
      "chmod go-w \(path), or name a file in a directory of your own"
    case .corrupt: "move it away and pair again, or try sqlite3's .recover on a copy"
    case .damagedRecord: "pair again, or remove it"
    case .newer: "use that version, or name another file"
    case .busy: "try again when the process has ended"
    case .full: "free some space; everything stored before is intact"
    case .readOnly:
      "make the file and its directory writable for this user (mount -o remount,rw if the file"
        + " system is read-only), or name another file"
    case .tooManyBonds: "remove a bond"
    case .noSigningKey: "pair first; not every peer supports signing"
    case .countersExhausted: "remove the bond and pair again"
    case .sqlite(_, CSQLITE_NOMEM, _): "end other programs, or raise the limit (ulimit -v)"
    case .sqlite(_, CSQLITE_IOERR, _): "look for errors of the disk (dmesg) and check its cables"
    case .sqlite(_, CSQLITE_CANTOPEN, _):
      "make the directory writable for this user, and check the limit of open files (ulimit -n)"
    case .sqlite: "try again; if it fails again, move the store away and pair again"
    case .system(_, let path, ENOENT): "create the directory \(StorePlace.folder(of: path))"
    case .system(_, let path, ENOTDIR):
      "\(StorePlace.folder(of: path)) is not a directory: name another file"
    case .system(_, _, ENOSPC), .system(_, _, EDQUOT): StoreError.full(path: "").hint
    case .system(_, _, EROFS), .system(_, _, EACCES), .system(_, _, EPERM):
      StoreError.readOnly(path: "").hint
    case .system, .noAddress: nil
    }
  }

  /// Whether other calls fail as well, because the error is one of the store and not of a record or a call.
  package var isLasting: Bool {
    switch self {
    case .damagedRecord, .tooManyBonds, .noSigningKey, .noAddress, .countersExhausted: false
    case .libraryMissing, .noPlace, .missing, .system, .notAFile, .foreignOwner, .writableFolder,
      .foreign,
      .corrupt, .newer, .busy, .full, .readOnly, .sqlite:
      true
    }
  }

  static func damagedBond(
    _ adapter: BluetoothAddress, _ peer: BluetoothAddress, _ path: String
  ) -> StoreError {
    .damagedRecord(path: path, "the bond of \(adapter) with \(peer)")
  }

  private static func text(_ number: Int32) -> String {
    strerror(number).map { String(cString: $0) } ?? "error \(number)"
  }
}
