import CAttoSQLite

/// A value bound to a statement.
package enum SQLValue {
  case integer(Int64)
  case octets([UInt8])
  case text(String)
}

/// An open database file.
///
/// It owns SQLite's pointer, which never leaves it, and closes it when it is destroyed. Statements
/// live within one call.
package struct SQLiteDatabase: ~Copyable {
  let path: String
  private let database: OpaquePointer

  /// Opens an existing file, without reading it.
  package init(path: String) throws(StoreError) {
    guard csqlite_load() == 0 else {
      throw .libraryMissing(String(cString: csqlite_load_error()))
    }
    var database: OpaquePointer?
    let result = csqlite_open(path, &database)
    guard let database else { throw .sqlite(path: path, code: result, "out of memory") }
    guard result == CSQLITE_OK else {
      let error = Self.error(result, of: database, path)
      csqlite_close(database)
      throw error
    }
    csqlite_busy_timeout(database, Int32(StoreFile.busyTime.components.seconds * 1000))
    self.path = path
    self.database = database
  }

  deinit { csqlite_close(database) }

  /// Runs one statement.
  ///
  /// - Parameter row: called with each row of the result.
  /// - Returns: the number of changed rows, if the statement changes any.
  @discardableResult
  package func run(
    _ sql: String, _ values: SQLValue...,
    row: (borrowing SQLiteRow) throws(StoreError) -> Void = { (_) throws(StoreError) in }
  ) throws(StoreError) -> Int64 {
    try run(sql, values, row: row)
  }

  @discardableResult
  func run(
    _ sql: String, _ values: [SQLValue], row: (borrowing SQLiteRow) throws(StoreError) -> Void
  ) throws(StoreError) -> Int64 {
    var made: OpaquePointer?
    let prepared = csqlite_prepare(database, sql, &made)
    guard prepared == CSQLITE_OK, let statement = made else { throw error(prepared) }
    defer { csqlite_finalize(statement) }
    for (index, value) in values.enumerated() {
      let position = Int32(index + 1)
      let result: Int32 =
        switch value {
        case .integer(let number): csqlite_bind_integer(statement, position, number)
        case .octets(let octets):
          octets.withUnsafeBytes {
            csqlite_bind_octets(statement, position, $0.baseAddress, Int32($0.count))
          }
        case .text(let text):
          csqlite_bind_text(statement, position, text, Int32(text.utf8.count))
        }
      guard result == CSQLITE_OK else { throw error(result) }
    }
    while true {
      switch csqlite_step(statement) {
      case CSQLITE_ROW: try row(SQLiteRow(statement))
      case CSQLITE_DONE: return csqlite_changes(database)
      case let result: throw error(result)
      }
    }
  }

  /// Returns the first column of the first row; nil if there is none.
  package func integer(_ sql: String) throws(StoreError) -> Int64? {
    var found: Int64?
    try run(sql) { (row) throws(StoreError) in found = found ?? row.integer(0) }
    return found
  }

  /// Runs `body` in a transaction, which has reached the disk when this returns.
  package func transaction<Value>(
    _ body: () throws(StoreError) -> Value
  ) throws(StoreError) -> Value {
    // Locked for writing at once: of two transactions that begin as readers, one would fail.
    try run("BEGIN IMMEDIATE")
    do throws(StoreError) {
      let value = try body()
      try run("COMMIT")
      return value
    } catch {
      // After some errors SQLite has already rolled back.
      _ = try? run("ROLLBACK")
      throw error
    }
  }

  /// Frees the pages that SQLite keeps in memory, 87 KB even of a small file.
  package func releasePages() { _ = try? run("PRAGMA shrink_memory") }

  /// Runs `body`, which reads. Other processes change nothing meanwhile.
  func reading<Value>(_ body: () throws(StoreError) -> Value) throws(StoreError) -> Value {
    try run("BEGIN")
    defer { _ = try? run("ROLLBACK") }
    return try body()
  }

  private func error(_ result: Int32) -> StoreError { Self.error(result, of: database, path) }

  private static func error(
    _ result: Int32, of database: OpaquePointer, _ path: String
  ) -> StoreError {
    let text = String(cString: csqlite_error_message(database))
    switch result & 0xFF {
    case CSQLITE_BUSY, CSQLITE_LOCKED:
      return .busy(path: path, process: StorePlace.holder(of: path))
    case CSQLITE_CORRUPT: return .corrupt(path: path, "its structure is inconsistent")
    case CSQLITE_ERROR, CSQLITE_CONSTRAINT, CSQLITE_MISMATCH:
      return .corrupt(path: path, "its tables are not those of a store")
    case CSQLITE_NOTADB: return .foreign(path: path, "is not an SQLite database")
    case CSQLITE_FULL: return .full(path: path)
    case CSQLITE_READONLY: return .readOnly(path: path)
    case let code: return .sqlite(path: path, code: code, text)
    }
  }
}

/// A row of a result, valid during the call that receives it.
package struct SQLiteRow: ~Copyable {
  private let statement: OpaquePointer

  init(_ statement: OpaquePointer) { self.statement = statement }

  /// Returns a column as a number; 0 if it is not one.
  package func integer(_ column: Int32) -> Int64 { csqlite_column_integer(statement, column) }

  /// Returns a copy of a column's octets; empty for NULL.
  package func octets(_ column: Int32) -> [UInt8] {
    // The pointer first, since the call may change the count.
    let start = csqlite_column_octets(statement, column)
    let count = Int(csqlite_column_count(statement, column))
    return Array(UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : count))
  }

  /// Returns a column as text.
  package func text(_ column: Int32) -> String { String(decoding: octets(column), as: UTF8.self) }
}

extension SQLiteDatabase {
  /// Opens a file for this user only, and creates it if it is missing. Its folder must exist.
  package init(creating path: String) throws(StoreError) {
    let (path, _) = try StorePlace.prepare(path, isNamed: true, creates: true)
    try self.init(path: path)
  }
}
