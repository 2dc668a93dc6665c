import CSQLite

/// A value that goes into a statement.
package enum SQLValue {
  case integer(Int64)
  case octets([UInt8])
  case text(String)
}

/// One open database file.
///
/// It owns SQLite's pointer, which never leaves it, and closes it at its end. Statements live
/// within one call. Whoever shares it between threads does so behind a lock.
package struct SQLiteDatabase: ~Copyable {
  let path: String
  private let database: OpaquePointer

  /// Opens a file that exists. Nothing is read yet.
  package init(path: String) throws(StoreError) {
    guard csqlite_load() == 0 else {
      throw .libraryMissing(String(cString: csqlite_load_error()))
    }
    var database: OpaquePointer?
    let result = csqlite_open(path, &database)
    guard let database else { throw .sqlite(path: path, code: result, "it has no memory left") }
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

  /// Carries out one statement.
  ///
  /// - Parameter row: called with each row of the result.
  /// - Returns: how many rows were changed, if it was one that changes some.
  @discardableResult
  package func run(
    _ sql: String, _ values: SQLValue...,
    row: (borrowing SQLiteRow) throws(StoreError) -> Void = { (_) throws(StoreError) in }
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

  /// The first column of the first row; nil if there is none.
  package func integer(_ sql: String) throws(StoreError) -> Int64? {
    var found: Int64?
    try run(sql) { (row) throws(StoreError) in found = found ?? row.integer(0) }
    return found
  }

  /// Has everything in `body` take effect, on the disk, or nothing.
  package func transaction<Value>(
    _ body: () throws(StoreError) -> Value
  ) throws(StoreError) -> Value {
    // Taken for writing at once: two that begin as readers could not both go on.
    try run("BEGIN IMMEDIATE")
    do throws(StoreError) {
      let value = try body()
      try run("COMMIT")
      return value
    } catch {
      // Some errors have rolled it back already.
      _ = try? run("ROLLBACK")
      throw error
    }
  }

  private func error(_ result: Int32) -> StoreError { Self.error(result, of: database, path) }

  private static func error(
    _ result: Int32, of database: OpaquePointer, _ path: String
  ) -> StoreError {
    let text = String(cString: csqlite_error_message(database))
    switch result & 0xFF {
    case CSQLITE_BUSY, CSQLITE_LOCKED:
      return .busy(path: path, process: StorePlace.holder(of: path))
    case CSQLITE_CORRUPT: return .corrupt(path: path, text)
    case CSQLITE_NOTADB: return .foreign(path: path, "is no SQLite database")
    case CSQLITE_FULL: return .full(path: path)
    case CSQLITE_READONLY: return .readOnly(path: path)
    case let code: return .sqlite(path: path, code: code, text)
    }
  }
}

/// A row of a result, lent while it stands.
package struct SQLiteRow: ~Copyable {
  private let statement: OpaquePointer

  init(_ statement: OpaquePointer) { self.statement = statement }

  /// A column as a number; 0 for what is none.
  package func integer(_ column: Int32) -> Int64 { csqlite_column_integer(statement, column) }

  /// A column's octets, copied; none for NULL.
  package func octets(_ column: Int32) -> [UInt8] {
    // The pointer first: asking for it may change the count, and not the other way round.
    let start = csqlite_column_octets(statement, column)
    let count = Int(csqlite_column_count(statement, column))
    return Array(UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : count))
  }

  /// A column as text.
  package func text(_ column: Int32) -> String { String(decoding: octets(column), as: UTF8.self) }
}
