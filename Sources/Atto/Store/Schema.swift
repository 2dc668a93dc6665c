/// The tables of a store, and the checks that a file is one.
///
/// Addresses are stored as text, `AA:BB:CC:DD:EE:FF` with `/random` behind random ones. Keys are in
/// the kernel's order, least significant octet first. Adapters are named by their identity address,
/// so that a bond does not depend on the adapter's number. The column `sum` is the checksum of a
/// record, see ``SealedTable``; that of a bond covers its rows in all tables.
enum Schema {
  /// The application ID in the header of the file: "Atto".
  static let applicationID: Int64 = 0x4174_746F

  private static let tables = [
    """
    CREATE TABLE bond(
      id INTEGER PRIMARY KEY,
      adapter TEXT NOT NULL,
      peer TEXT NOT NULL,
      since INTEGER NOT NULL,
      sum INTEGER NOT NULL DEFAULT 0,
      UNIQUE(adapter, peer))
    """,
    """
    CREATE TABLE long_term_key(
      bond INTEGER NOT NULL REFERENCES bond(id) ON DELETE CASCADE,
      central INTEGER NOT NULL,
      kind INTEGER NOT NULL,
      size INTEGER NOT NULL,
      diversifier INTEGER NOT NULL,
      random INTEGER NOT NULL,
      value BLOB NOT NULL CHECK(length(value) = 16),
      PRIMARY KEY(bond, central)) WITHOUT ROWID
    """,
    """
    CREATE TABLE identity_key(
      bond INTEGER PRIMARY KEY REFERENCES bond(id) ON DELETE CASCADE,
      value BLOB NOT NULL CHECK(length(value) = 16))
    """,
    // counter: the next one of our key, the least accepted one of the peer's.
    """
    CREATE TABLE signature_key(
      bond INTEGER NOT NULL REFERENCES bond(id) ON DELETE CASCADE,
      is_ours INTEGER NOT NULL,
      kind INTEGER NOT NULL,
      value BLOB NOT NULL CHECK(length(value) = 16),
      counter INTEGER NOT NULL,
      PRIMARY KEY(bond, is_ours)) WITHOUT ROWID
    """,
    """
    CREATE TABLE client(
      bond INTEGER PRIMARY KEY REFERENCES bond(id) ON DELETE CASCADE,
      features INTEGER NOT NULL,
      hash BLOB NOT NULL)
    """,
    """
    CREATE TABLE configuration(
      bond INTEGER NOT NULL REFERENCES bond(id) ON DELETE CASCADE,
      handle INTEGER NOT NULL,
      value INTEGER NOT NULL,
      service_hash BLOB NOT NULL,
      PRIMARY KEY(bond, handle)) WITHOUT ROWID
    """,
    """
    CREATE TABLE peer_database(
      peer TEXT PRIMARY KEY,
      used INTEGER NOT NULL,
      content BLOB NOT NULL,
      sum INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID
    """,
  ]

  /// Records of applications, see ``RecordFile``. Stores of bonds do not have this table.
  static let recordTable = """
    CREATE TABLE IF NOT EXISTS record(
      id INTEGER PRIMARY KEY,
      kind TEXT NOT NULL,
      name TEXT NOT NULL,
      content BLOB NOT NULL,
      sum INTEGER NOT NULL DEFAULT 0,
      UNIQUE(kind, name))
    """

  private static let columns = [
    "bond": "id adapter peer since sum",
    "long_term_key": "bond central kind size diversifier random value",
    "identity_key": "bond value",
    "signature_key": "bond is_ours kind value counter",
    "client": "bond features hash",
    "configuration": "bond handle value service_hash",
    "peer_database": "peer used content sum",
  ]
  private static let recordColumns = "id kind name content sum"

  /// Checks the file, and creates the tables in an empty one.
  static func establish(_ database: borrowing SQLiteDatabase) throws(StoreError) {
    // A foreign file may define hostile views and triggers.
    for setting in [
      "PRAGMA trusted_schema = OFF", "PRAGMA cell_size_check = ON", "PRAGMA foreign_keys = ON",
      // Removed data is overwritten. A commit, and the removal of the journal, have reached the disk
      // when the call returns.
      "PRAGMA secure_delete = ON", "PRAGMA synchronous = EXTRA",
    ] {
      try database.run(setting)
    }
    if try isEmpty(database) {
      // Before the first transaction, which would otherwise use the library's default.
      try database.run("PRAGMA journal_mode = DELETE")
      try database.transaction { () throws(StoreError) in
        // Another process may have created the tables meanwhile.
        guard try isEmpty(database) else { return }
        try database.run("PRAGMA application_id = \(applicationID)")
        try database.run("PRAGMA user_version = \(StoreFile.schemaVersion)")
        for table in tables { try database.run(table) }
      }
    }
    try check(database)
  }

  private static func isEmpty(_ database: borrowing SQLiteDatabase) throws(StoreError) -> Bool {
    for sql in [
      "PRAGMA application_id", "PRAGMA user_version", "SELECT count(*) FROM sqlite_master",
    ] where try database.integer(sql) != 0 {
      return false
    }
    return true
  }

  private static func check(_ database: borrowing SQLiteDatabase) throws(StoreError) {
    let path = database.path
    let application = try database.integer("PRAGMA application_id")
    guard application == applicationID else {
      throw .foreign(path: path, "is a database of another program")
    }
    let version = try database.integer("PRAGMA user_version") ?? 0
    guard version <= StoreFile.schemaVersion else {
      throw .newer(path: path, version: version)
    }
    guard version > 0 else { throw .corrupt(path: path, "unknown schema \(version)") }
    try checkStructure(database)
    if version == 1 { try sealFirstVersion(database) }
    try checkTables(database)
  }

  private static func checkStructure(
    _ database: borrowing SQLiteDatabase
  ) throws(StoreError) {
    func isWell(_ check: String) throws(StoreError) -> Bool {
      var verdict = ""
      try database.run("PRAGMA \(check)(1)") { (row) throws(StoreError) in verdict = row.text(0) }
      return verdict == "ok"
    }
    // The checksums cover the content of a record, and a wrong one is no reason to refuse the others.
    try database.run("PRAGMA ignore_check_constraints = ON")
    if try !isWell("integrity_check"), try isWell("quick_check") {
      // Only an index differs from its table.
      try database.run("REINDEX")
    }
    guard try isWell("integrity_check") else {
      throw .corrupt(path: database.path, "its structure is inconsistent")
    }
    try database.run("PRAGMA ignore_check_constraints = OFF")
  }

  /// Gives the records of a store of version 1 their checksums. Databases of peers, which cost one
  /// discovery each, are dropped: nothing vouches for them.
  private static func sealFirstVersion(
    _ database: borrowing SQLiteDatabase
  ) throws(StoreError) {
    try database.transaction { () throws(StoreError) in
      // Another process may have done it meanwhile.
      guard try database.integer("PRAGMA user_version") == 1 else { return }
      try database.run("DELETE FROM peer_database")
      let tables: [SealedTable] =
        try columns(of: database)["record"] == nil
        ? [.databases, .bonds] : [.databases, .bonds, .records]
      for table in tables {
        try database.run("ALTER TABLE \(table.name) ADD COLUMN sum INTEGER NOT NULL DEFAULT 0")
        for key in try table.keys(in: database) { try table.seal(key, in: database) }
      }
      try database.run("PRAGMA user_version = 2")
    }
  }

  private static func checkTables(_ database: borrowing SQLiteDatabase) throws(StoreError) {
    let found = try columns(of: database)
    for (table, expected) in columns {
      guard let there = found[table] else {
        throw .corrupt(path: database.path, "missing table \(table)")
      }
      guard there == expected else {
        throw .corrupt(path: database.path, "wrong columns in table \(table)")
      }
    }
    guard found["record", default: recordColumns] == recordColumns else {
      throw .corrupt(path: database.path, "wrong columns in table record")
    }
  }

  /// The columns of each table, in their order.
  private static func columns(
    of database: borrowing SQLiteDatabase
  ) throws(StoreError) -> [String: String] {
    var found: [String: String] = [:]
    try database.run("SELECT name FROM sqlite_master WHERE type = 'table'") {
      (row) throws(StoreError) in found[row.text(0)] = ""
    }
    for table in found.keys {
      var names: [String] = []
      try database.run("SELECT name FROM pragma_table_info(?) ORDER BY cid", .text(table)) {
        (row) throws(StoreError) in names.append(row.text(0))
      }
      found[table] = names.joined(separator: " ")
    }
    return found
  }
}
