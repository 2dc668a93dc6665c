import Synchronization

/// Records of an application in a store: octets by kind and name, whose meaning only the application
/// knows.
///
/// The functions block the calling thread, on the disk and on other processes, for up to
/// ``StoreFile/busyTime``. Call them on a thread or a queue of your own. Each has reached the disk when
/// it returns.
public final class RecordFile: Sendable {
  private let database: Mutex<SQLiteDatabase>

  /// Opens a store, and creates the file if it is missing. Its folder must exist.
  ///
  /// - Throws: ``StoreError``. A file that is not a store is never changed.
  public init(path: String) throws(StoreError) {
    let (path, _) = try StorePlace.prepare(path, isNamed: true, creates: true)
    let opened = try SQLiteDatabase(path: path)
    try Schema.establish(opened)
    try opened.run(Schema.recordTable)
    _ = try StorePlace.closeToOthers(path)
    database = Mutex(opened)
  }

  /// Reads a record; nil if there is none.
  ///
  /// - Throws: ``StoreError``: `busy` if another process holds the file for longer than 2 s,
  ///   `system`, `corrupt`, `damagedRecord`.
  public func record(_ kind: String, _ name: String) throws(StoreError) -> [UInt8]? {
    try database.withLock { (database) throws(StoreError) in
      try database.reading { () throws(StoreError) in
        var found: (id: Int64, content: [UInt8])?
        try database.run(
          "SELECT id, content FROM record WHERE kind = ? AND name = ?", .text(kind), .text(name)
        ) { (row) throws(StoreError) in found = (row.integer(0), row.octets(1)) }
        if let found, try !SealedTable.records.isSound(.integer(found.id), in: database) {
          throw .damagedRecord(path: database.path, "the record \"\(name)\"")
        }
        return found?.content
      }
    }
  }

  /// A change of one record.
  public struct Change: Sendable {
    var kind: String
    var name: String
    var content: [UInt8]?

    /// A record that replaces the former one of that kind and name. nil removes it.
    public init(_ kind: String, _ name: String, _ content: [UInt8]?) {
      (self.kind, self.name, self.content) = (kind, name, content)
    }
  }

  /// Makes changes, all or none.
  ///
  /// - Parameter limit: number of records of a kind. Beyond it, those that were saved longest ago are
  ///   removed.
  /// - Throws: ``StoreError``: `busy` if another process holds the file for longer than 2 s, `full`,
  ///   `system`, `corrupt`.
  public func save(_ changes: [Change], limit: Int) throws(StoreError) {
    try database.withLock { (database) throws(StoreError) in
      try database.transaction { () throws(StoreError) in
        for change in changes {
          guard let content = change.content else {
            try database.run(
              "DELETE FROM record WHERE kind = ? AND name = ?", .text(change.kind),
              .text(change.name))
            continue
          }
          // A replaced record gets a new id, the highest.
          try database.run(
            "INSERT OR REPLACE INTO record(kind, name, content) VALUES(?, ?, ?)",
            .text(change.kind), .text(change.name), .octets(content))
          let id = try database.integer("SELECT last_insert_rowid()") ?? 0
          try SealedTable.records.seal(.integer(id), in: database)
        }
        for kind in Set(changes.map(\.kind)) {
          try database.run(
            """
            DELETE FROM record WHERE kind = ? AND id NOT IN
              (SELECT id FROM record WHERE kind = ? ORDER BY id DESC LIMIT ?)
            """, .text(kind), .text(kind), .integer(Int64(limit)))
        }
      }
    }
  }
}
