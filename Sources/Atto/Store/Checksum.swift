/// Records that carry a checksum in the column `sum`: bonds with everything stored for them, databases
/// of peers, and records of applications.
///
/// A bit that flips on a disk or in memory would otherwise become a wrong key, a counter that was used
/// before, or the handle of another value. The checksum is no protection from someone who may write to
/// the file.
struct SealedTable: Sendable {
  let name: String
  let key: String
  /// Statements that return the content of the record with a key, and the numbers of their columns.
  private let content: [(sql: String, columns: Int32)]

  static let bonds = SealedTable(
    name: "bond", key: "id",
    content: [
      ("SELECT adapter, peer, since FROM bond WHERE id = ?", 3),
      (
        """
        SELECT central, kind, size, diversifier, random, value FROM long_term_key WHERE bond = ?
          ORDER BY central
        """, 6
      ),
      ("SELECT value FROM identity_key WHERE bond = ?", 1),
      (
        "SELECT is_ours, kind, value, counter FROM signature_key WHERE bond = ? ORDER BY is_ours",
        4
      ),
      ("SELECT features, hash FROM client WHERE bond = ?", 2),
      (
        "SELECT handle, value, service_hash FROM configuration WHERE bond = ? ORDER BY handle", 3
      ),
    ])
  static let databases = SealedTable(
    name: "peer_database", key: "peer",
    content: [("SELECT peer, content FROM peer_database WHERE peer = ?", 2)])
  static let records = SealedTable(
    name: "record", key: "id",
    content: [("SELECT kind, name, content FROM record WHERE id = ?", 3)])

  /// Stores the checksum of a record, after a change in the same transaction.
  func seal(_ key: SQLValue, in database: borrowing SQLiteDatabase) throws(StoreError) {
    let sum = try checksum(of: key, in: database)
    try database.run("UPDATE \(name) SET sum = ? WHERE \(self.key) = ?", .integer(sum), key)
  }

  /// Returns whether a record is as it was stored; false if there is none.
  ///
  /// Other processes must not change the record meanwhile: call it in a transaction.
  func isSound(
    _ key: SQLValue, in database: borrowing SQLiteDatabase
  ) throws(StoreError) -> Bool {
    var stored: Int64?
    try database.run("SELECT sum FROM \(name) WHERE \(self.key) = ?", key) {
      (row) throws(StoreError) in stored = row.integer(0)
    }
    return try stored == checksum(of: key, in: database)
  }

  /// Returns the keys of all records.
  func keys(in database: borrowing SQLiteDatabase) throws(StoreError) -> [SQLValue] {
    var keys: [SQLValue] = []
    try database.run("SELECT \(key) FROM \(name)") { (row) throws(StoreError) in
      keys.append(.text(row.text(0)))
    }
    return keys
  }

  private func checksum(
    of key: SQLValue, in database: borrowing SQLiteDatabase
  ) throws(StoreError) -> Int64 {
    var sum = Checksum()
    for part in content {
      try database.run(part.sql, key) { (row) throws(StoreError) in
        for column in 0..<part.columns { sum.add(row.octets(column)) }
      }
      // The end of the rows, so that a row cannot move to another table.
      sum.add([])
    }
    return sum.value
  }
}

/// FNV-1a with 64 bits. It differs whenever one octet differs, and for any other change in all but one
/// of 2^64 cases.
private struct Checksum {
  private var state: UInt64 = 0xCBF2_9CE4_8422_2325
  var value: Int64 { Int64(bitPattern: state) }

  /// Adds a column, with its length, so that octets cannot move to another one.
  mutating func add(_ octets: [UInt8]) {
    for shift in stride(from: 0, to: 32, by: 8) {
      mix(UInt8(truncatingIfNeeded: octets.count >> shift))
    }
    for octet in octets { mix(octet) }
  }

  private mutating func mix(_ octet: UInt8) {
    state = (state ^ UInt64(octet)) &* 0x100_0000_01B3
  }
}
