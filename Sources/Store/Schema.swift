/// The tables of a store, and how a file is told to be one.
///
/// Addresses are written as people write them, `AA:BB:CC:DD:EE:FF` with `/random` behind random
/// ones; keys are in the kernel's order, least significant octet first. An adapter is named by
/// its own identity address, so that a bond follows the radio and not the number of its socket.
enum Schema {
  /// What the header of the file says: "Atto".
  static let applicationID: Int64 = 0x4174_746F

  private static let tables = [
    """
    CREATE TABLE bond(
      id INTEGER PRIMARY KEY,
      adapter TEXT NOT NULL,
      peer TEXT NOT NULL,
      since INTEGER NOT NULL,
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
    // counter: of ours the next one to be used, of the peer's the least that is accepted.
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
      content BLOB NOT NULL) WITHOUT ROWID
    """,
  ]

  /// Settles what the file is, and makes the tables in one that is empty.
  static func establish(_ database: borrowing SQLiteDatabase) throws(StoreError) {
    // What a file of others defines is not to be trusted with anything.
    for setting in [
      "PRAGMA trusted_schema = OFF", "PRAGMA cell_size_check = ON", "PRAGMA foreign_keys = ON",
      // What is removed is overwritten. A commit has reached the disk, and the removal of the
      // journal too, when it returns.
      "PRAGMA secure_delete = ON", "PRAGMA synchronous = EXTRA",
    ] {
      try database.run(setting)
    }
    if try isEmpty(database) {
      // Before the first transaction, which would otherwise begin with what a setting of the
      // library says.
      try database.run("PRAGMA journal_mode = DELETE")
      try database.transaction { () throws(StoreError) in
        // Another process may have been faster.
        guard try isEmpty(database) else { return }
        try database.run("PRAGMA application_id = \(applicationID)")
        try database.run("PRAGMA user_version = \(StoreFile.schemaVersion)")
        for table in tables { try database.run(table) }
      }
    }
    try judge(database)
  }

  private static func isEmpty(_ database: borrowing SQLiteDatabase) throws(StoreError) -> Bool {
    for sql in [
      "PRAGMA application_id", "PRAGMA user_version", "SELECT count(*) FROM sqlite_master",
    ] where try database.integer(sql) != 0 {
      return false
    }
    return true
  }

  private static func judge(_ database: borrowing SQLiteDatabase) throws(StoreError) {
    let path = database.path
    let application = try database.integer("PRAGMA application_id")
    guard application == applicationID else {
      throw .foreign(path: path, "is a database of another program, not a store of atto")
    }
    let version = try database.integer("PRAGMA user_version") ?? 0
    guard version <= StoreFile.schemaVersion else {
      throw .newer(path: path, version: version)
    }
    guard version == StoreFile.schemaVersion else {
      throw .corrupt(path: path, "schema \(version) has never been")
    }
    var verdict = ""
    try database.run("PRAGMA integrity_check(1)") { (row) throws(StoreError) in
      verdict = row.text(0)
    }
    guard verdict == "ok" else { throw .corrupt(path: path, verdict) }
    var names: Set<String> = []
    try database.run("SELECT name FROM sqlite_master WHERE type = 'table'") {
      (row) throws(StoreError) in names.insert(row.text(0))
    }
    for name in [
      "bond", "long_term_key", "identity_key", "signature_key", "client", "configuration",
      "peer_database",
    ] where !names.contains(name) {
      throw .corrupt(path: path, "it has no table \(name)")
    }
  }
}
