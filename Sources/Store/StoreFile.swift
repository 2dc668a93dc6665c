import Atto
import Synchronization

/// What is kept between runs, in one SQLite file: bonds with their keys and sign counters, what a
/// server remembers of each bonded client, and the databases of peers.
///
/// # Theory
/// Each function is one transaction, and has reached the disk when it returns: a crash at any
/// instant, of the process or of the machine, leaves every record for which a function had
/// returned, and of the one that was under way all or nothing. The journal is SQLite's rollback
/// journal: whoever opens the file next rolls back what was not committed.
///
/// Several processes may use one file, each for the moment of its transaction. One that finds it
/// held waits for ``busyTime``, on its own thread, and then fails with ``StoreError/busy``.
///
/// Any thread; threads take turns.
public final class StoreFile: Sendable {
  /// The version of the tables that this code knows.
  public static let schemaVersion: Int64 = 1
  /// How long a function waits for another process.
  public static let busyTime: Duration = .seconds(2)
  /// Bonds of one adapter: what the kernel takes at a time.
  public static let bondLimit = 512
  /// Databases of peers; when there are more, the one that was not used for longest goes.
  public static let databaseLimit = 1024

  /// Octets of the longest database that is kept: some 2,500 characteristics.
  public static let databaseLength = 1 << 16

  /// As it was given, for people.
  public let path: String
  /// What a person should know: that the file was open to others, for instance.
  public let notices: [String]
  private let database: Mutex<SQLiteDatabase>

  /// Opens a store.
  ///
  /// - Parameters:
  ///   - path: nil: where it usually is, see ``usualPath()``.
  ///   - creates: whether it is made if it is missing.
  /// - Throws: ``StoreError/missing(path:)`` if it is missing and not to be made; any other
  ///   ``StoreError``. A file that is no store is never changed.
  public init(path: String? = nil, creates: Bool = true) throws(StoreError) {
    let (chosen, isNamed) =
      if let path { (path, true) } else { try StorePlace.usualPath() }
    let notices = try StorePlace.prepare(chosen, isNamed: isNamed, creates: creates)
    self.path = chosen
    let opened = try SQLiteDatabase(path: chosen)
    try Schema.establish(opened)
    let closed = try StorePlace.closeToOthers(chosen)
    self.notices = notices + (closed.map { [$0] } ?? [])
    database = Mutex(opened)
  }

  /// Where the store is when nobody names a file: `$ATTO_STORE`; for root
  /// `/var/lib/atto/store.sqlite`; else `atto/store.sqlite` under `$XDG_STATE_HOME` or
  /// `~/.local/state`.
  ///
  /// - Throws: ``StoreError/noPlace``.
  public static func usualPath() throws(StoreError) -> String { try StorePlace.usualPath().path }

  /// Works on the database, alone.
  func use<Value: Sendable>(
    _ body: (borrowing SQLiteDatabase) throws(StoreError) -> Value
  ) throws(StoreError) -> Value {
    try database.withLock { (database) throws(StoreError) in try body(database) }
  }

  /// Works on the database, alone; everything takes effect or nothing.
  func change<Value: Sendable>(
    _ body: (borrowing SQLiteDatabase) throws(StoreError) -> Value
  ) throws(StoreError) -> Value {
    try use { (database) throws(StoreError) in
      try database.transaction { () throws(StoreError) in try body(database) }
    }
  }
}
