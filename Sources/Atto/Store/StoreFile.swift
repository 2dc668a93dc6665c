import Atto
import AttoEventLoop
import Synchronization

/// A store in one SQLite file: bonds with their keys and sign counters, what a server remembers of
/// each bonded client, and the databases of peers.
///
/// # Theory
/// Each function is one transaction and returns when it has reached the disk. After a crash of the
/// process or of the machine, the store contains everything for which a function had returned, and
/// all or nothing of the transaction in progress. SQLite's rollback journal does this: the next
/// process that opens the file rolls back what was not committed.
///
/// SQLite blocks: on the disk, and on other processes that use the file. So a store has a thread of
/// its own, on which all its work is done, one function after another in the order of the calls.
///
/// Several processes may use one file, each for the duration of a transaction. A function that
/// finds the file locked waits for ``busyTime``, and then fails with ``StoreError/busy(path:process:)``.
///
/// All functions may be called from any thread.
public final class StoreFile: Sendable {
  /// The version of the tables.
  public static let schemaVersion: Int64 = 2
  /// How long a function waits for another process.
  public static let busyTime: Duration = .seconds(2)
  /// The most bonds of one adapter, which is what the kernel accepts.
  public static let bondLimit = 512
  /// The most databases of peers. The least recently used one is dropped when there are more.
  public static let databaseLimit = 1024
  /// The longest stored database in octets: some 2,500 characteristics.
  public static let databaseLength = 1 << 16

  /// The path, for messages.
  public let path: String
  /// Messages for the user, for instance that the file was readable by others, or that a bond in it
  /// is damaged.
  public var notices: [String] { database.notices.withLock { $0 } }
  private let database: OpenDatabase
  private let thread: Loop

  /// Opens a store.
  ///
  /// - Parameters:
  ///   - path: nil for the default path, see ``usualPath()``.
  ///   - creates: whether a missing file is created.
  /// - Throws: ``StoreError/missing(path:)`` if the file is missing and is not to be created, or
  ///   another ``StoreError``. A file that is not a store is never changed.
  public convenience init(path: String? = nil, creates: Bool = true) async throws(StoreError) {
    try self.init(openedLater: path, creates: creates)
    try await use { (_) throws(StoreError) in }
  }

  /// A store whose file is opened by the first function that needs it. Where that fails the function throws,
  /// and the next one tries again.
  ///
  /// - Throws: ``StoreError/noPlace``, or `system` without a thread.
  package init(openedLater path: String?, creates: Bool = true) throws(StoreError) {
    let (chosen, isNamed) =
      if let path { (path, true) } else { try StorePlace.usualPath() }
    do throws(LoopError) {
      thread = try Loop(name: "atto-store")
      try thread.start()
    } catch {
      throw .system("opened", path: chosen, errno: error.errno)
    }
    self.path = chosen
    database = OpenDatabase(chosen, isNamed: isNamed, creates: creates)
  }

  deinit { thread.stop() }

  /// The default path: `$ATTO_STORE`; for root `/var/lib/atto/store.sqlite`; for others
  /// `atto/store.sqlite` under `$XDG_STATE_HOME` or `~/.local/state`.
  ///
  /// - Throws: ``StoreError/noPlace``.
  public static func usualPath() throws(StoreError) -> String { try StorePlace.usualPath().path }

  /// Does work on the store's thread, after all work submitted before.
  ///
  /// - Parameter completion: called on the store's thread.
  func submit<Value: Sendable>(
    _ work: @escaping @Sendable (borrowing SQLiteDatabase) throws(StoreError) -> Value,
    _ completion: @escaping @Sendable (Result<Value, StoreError>) -> Void
  ) {
    let database = database
    thread.execute {
      completion(Result { () throws(StoreError) in try database.use(work) })
    }
  }

  /// Does work on the store's thread and returns its result.
  func use<Value: Sendable>(
    _ work: @escaping @Sendable (borrowing SQLiteDatabase) throws(StoreError) -> Value
  ) async throws(StoreError) -> Value {
    let result = await withCheckedContinuation { continuation in
      submit(work) { [thread] in
        HappensBefore.release(thread)
        continuation.resume(returning: $0)
      }
    }
    HappensBefore.acquire(thread)
    return try result.get()
  }

  /// Does work in one transaction.
  func change<Value: Sendable>(
    _ work: @escaping @Sendable (borrowing SQLiteDatabase) throws(StoreError) -> Value
  ) async throws(StoreError) -> Value {
    try await use { (database) throws(StoreError) in
      try database.transaction { () throws(StoreError) in try work(database) }
    }
  }
}

extension StoreFile {
  /// Checks that the store can be changed, by a change that leaves everything as it is.
  package func check() async throws(StoreError) {
    do throws(StoreError) {
      _ = try await change { (database) throws(StoreError) in
        try database.run("PRAGMA user_version = \(Self.schemaVersion)")
      }
    } catch {
      // SQLite goes on with a file that could be opened for reading only.
      if case .readOnly = error { thread.execute { [database] in database.close() } }
      throw error
    }
  }
}

/// The database of a store, open from its first use on. Only the store's thread uses it, so its lock is always
/// free.
private final class OpenDatabase: Sendable {
  let notices = Mutex<[String]>([])
  private let path: String
  private let isNamed: Bool
  private let creates: Bool
  private let value = Mutex<SQLiteDatabase?>(nil)

  init(_ path: String, isNamed: Bool, creates: Bool) {
    (self.path, self.isNamed, self.creates) = (path, isNamed, creates)
  }

  func use<Value: Sendable>(
    _ work: (borrowing SQLiteDatabase) throws(StoreError) -> Value
  ) throws(StoreError) -> Value {
    try value.withLock { (value) throws(StoreError) -> Value in
      if value == nil { value = try open() }
      // The store rests most of the time; the kernel has its pages too.
      defer { value!.releasePages() }
      return try work(value!)
    }
  }

  func close() { value.withLock { $0 = nil } }

  private func open() throws(StoreError) -> SQLiteDatabase {
    let (path, notices) = try StorePlace.prepare(path, isNamed: isNamed, creates: creates)
    let opened = try SQLiteDatabase(path: path)
    try Schema.establish(opened)
    let closed = try StorePlace.closeToOthers(path)
    let found = notices + (closed.map { [$0] } ?? []) + (try Damage.notices(in: opened))
    self.notices.withLock { $0 = found }
    return opened
  }
}
