import AttoStore
import Synchronization

/// The file of the values that wait for the broker: an SQLite database with a segment of values in each
/// row. It also has the topics that have a retained message of the gateway's. The functions block on the disk.
///
/// One process uses it at a time. A segment is removed when all its values are acknowledged, so after a
/// crash up to ``Segment/valueLimit`` values arrive again.
final class QueueFile: Sendable {
  private static let version: Int64 = 0x4174_5101
  private let database: Mutex<SQLiteDatabase>
  let path: String

  /// Opens the file, and creates it if it is missing.
  ///
  /// - Throws: ``StoreError``: `busy` if another gateway uses it, `foreign` if it is another program's.
  init(path: String) throws(StoreError) {
    let opened = try SQLiteDatabase(creating: path)
    // A lock for as long as the file is open. The log has its changes appended, so that a batch costs
    // one sync.
    try opened.run("PRAGMA locking_mode = EXCLUSIVE")
    let found = try opened.integer("PRAGMA application_id") ?? 0
    let isEmpty = try opened.integer("SELECT count(*) FROM sqlite_master") == 0
    guard found == Self.version || found == 0 && isEmpty else {
      throw .foreign(path: path, "is not the queue of a gateway")
    }
    try opened.run("PRAGMA journal_mode = WAL")
    try opened.run("PRAGMA synchronous = FULL")
    try opened.run("PRAGMA journal_size_limit = 1048576")
    try opened.transaction { () throws(StoreError) in
      try opened.run("PRAGMA application_id = \(Self.version)")
      try opened.run(
        """
        CREATE TABLE IF NOT EXISTS segment(
          first INTEGER PRIMARY KEY, last INTEGER NOT NULL, count INTEGER NOT NULL,
          content BLOB NOT NULL)
        """)
      // Numbers are not used again, even when the table is empty.
      try opened.run("CREATE TABLE IF NOT EXISTS highest(number INTEGER NOT NULL)")
      try opened.run("CREATE TABLE IF NOT EXISTS retained(topic TEXT PRIMARY KEY) WITHOUT ROWID")
      try opened.run("INSERT INTO highest SELECT 0 WHERE NOT EXISTS (SELECT 1 FROM highest)")
    }
    database = Mutex(opened)
    self.path = path
  }

  /// The queue rests while the broker answers; the kernel has its pages too.
  private func use<Value: Sendable>(
    _ work: @Sendable (borrowing SQLiteDatabase) throws(StoreError) -> Value
  ) throws(StoreError) -> Value {
    try database.withLock { (database) throws(StoreError) in
      defer { database.releasePages() }
      return try work(database)
    }
  }

  /// What the file holds.
  func content() throws(StoreError) -> Content {
    Content(file: self, stored: try stored(), retained: try retainedTopics())
  }

  /// An open file and what it holds.
  struct Content: Sendable {
    let file: QueueFile
    let stored: Outbox.Stored
    let retained: Set<String>
  }

  /// The values that wait.
  func stored() throws(StoreError) -> Outbox.Stored {
    try use { (database) throws(StoreError) in
      Outbox.Stored(
        count: Int(try database.integer("SELECT coalesce(sum(count), 0) FROM segment") ?? 0),
        last: UInt64(
          clamping: try database.integer(
            "SELECT max(number, (SELECT coalesce(max(last), 0) FROM segment)) FROM highest") ?? 0))
    }
  }

  /// Stores values as one segment, and removes the segments whose values have all numbers up to
  /// `through`. Has reached the disk when it returns.
  func write(_ values: [KeptValue], removeThrough through: UInt64) throws(StoreError) {
    try use { (database) throws(StoreError) in
      try database.transaction { () throws(StoreError) in
        try database.run(
          "DELETE FROM segment WHERE last <= ?", .integer(Int64(clamping: through)))
        guard let first = values.first, let last = values.last else { return }
        try database.run(
          "INSERT OR REPLACE INTO segment VALUES(?, ?, ?, ?)", .integer(Int64(first.number)),
          .integer(Int64(last.number)), .integer(Int64(values.count)),
          .octets(Segment.octets(values)))
        try database.run("UPDATE highest SET number = ?", .integer(Int64(last.number)))
      }
    }
  }

  /// The topics that have a retained message, as far as ``RetainedTopics/limit`` allows.
  func retainedTopics() throws(StoreError) -> Set<String> {
    try use { (database) throws(StoreError) in
      var topics: Set<String> = []
      try database.run("SELECT topic FROM retained LIMIT \(RetainedTopics.limit)") {
        (row) throws(StoreError) in topics.insert(row.text(0))
      }
      return topics
    }
  }

  /// Adds topics that have a retained message, and removes those that have none any more. Has reached the disk
  /// when it returns.
  func changeRetained(_ added: Set<String>, _ removed: Set<String>) throws(StoreError) {
    try use { (database) throws(StoreError) in
      try database.transaction { () throws(StoreError) in
        for topic in removed {
          try database.run("DELETE FROM retained WHERE topic = ?", .text(topic))
        }
        for topic in added {
          try database.run("INSERT OR IGNORE INTO retained VALUES(?)", .text(topic))
        }
      }
    }
  }

  /// The next values with numbers from `first` on, some segments of them; empty if there are none. A
  /// damaged segment is left out.
  func read(from first: UInt64) throws(StoreError) -> [KeptValue] {
    try use { (database) throws(StoreError) in
      var values: [KeptValue] = []
      var (next, end) = (first, first)
      repeat {
        next = end
        try database.run(
          "SELECT content, last FROM segment WHERE last >= ? ORDER BY first LIMIT 4",
          .integer(Int64(clamping: next))
        ) { (row) throws(StoreError) in
          values += (Segment.values(row.octets(0)) ?? []).filter { $0.number >= first }
          end = UInt64(clamping: row.integer(1)) + 1
        }
      } while values.isEmpty && end > next
      return values
    }
  }
}
