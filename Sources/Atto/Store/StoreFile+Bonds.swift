import Atto
import AttoKernelRadio
import Glibc

extension StoreFile {
  /// Stores a key that pairing has made. The first key of a peer creates the bond.
  ///
  /// A key replaces the previous one. The counter of a signature key starts at 0; if the same key is
  /// stored again, its counter continues.
  ///
  /// - Throws: ``StoreError/tooManyBonds(limit:)``, or as other functions do. Traps for a key that
  ///   is not 16 octets long.
  public func keep(_ key: BondKey, adapter: BluetoothAddress) async throws(StoreError) {
    try await keep([(key, adapter)])
  }

  /// Stores all keys of a pairing, or none of them. Throws and traps as above.
  public func keep(
    _ keys: [(key: BondKey, adapter: BluetoothAddress)]
  ) async throws(StoreError) {
    try await change { (database) throws(StoreError) in try Self.keep(keys, in: database) }
  }

  static func keep(
    _ keys: [(key: BondKey, adapter: BluetoothAddress)], in database: borrowing SQLiteDatabase
  ) throws(StoreError) {
    for (key, adapter) in keys {
      let bond = try makeBond(adapter, key.peer, in: database)
      switch key {
      case .longTerm(let key): try keep(key, bond, in: database)
      case .identity(let key):
        precondition(key.value.count == 16, "a key has 16 octets")
        try database.run(
          "INSERT OR REPLACE INTO identity_key VALUES(?, ?)", bond, .octets(key.value))
      case .signature(let key): try keep(key, bond, in: database)
      }
      try SealedTable.bonds.seal(bond, in: database)
    }
  }

  private static func makeBond(
    _ adapter: BluetoothAddress, _ peer: BluetoothAddress, in database: borrowing SQLiteDatabase
  ) throws(StoreError) -> SQLValue {
    do throws(StoreError) {
      if let bond = try find(adapter, peer, in: database) { return bond }
    } catch .damagedRecord {
      // The new pairing replaces it.
      try removeBond(adapter, peer, in: database)
    }
    var count: Int64 = 0
    try database.run("SELECT count(*) FROM bond WHERE adapter = ?", .text("\(adapter)")) {
      (row) throws(StoreError) in count = row.integer(0)
    }
    guard count < bondLimit else { throw .tooManyBonds(limit: bondLimit) }
    try database.run(
      "INSERT INTO bond(adapter, peer, since) VALUES(?, ?, ?)", .text("\(adapter)"),
      .text("\(peer)"), .integer(Int64(time(nil))))
    return .integer(try database.integer("SELECT last_insert_rowid()") ?? 0)
  }

  /// Returns the row of a bond; nil if there is none.
  ///
  /// - Throws: `damagedRecord` for a bond that is not as it was stored.
  static func find(
    _ adapter: BluetoothAddress, _ peer: BluetoothAddress, in database: borrowing SQLiteDatabase
  ) throws(StoreError) -> SQLValue? {
    var found: Int64?
    try database.run(
      "SELECT id FROM bond WHERE adapter = ? AND peer = ?", .text("\(adapter)"), .text("\(peer)")
    ) { (row) throws(StoreError) in found = row.integer(0) }
    guard let found else { return nil }
    guard try SealedTable.bonds.isSound(.integer(found), in: database) else {
      throw .damagedBond(adapter, peer, database.path)
    }
    return .integer(found)
  }

  private static func keep(
    _ key: LongTermKey, _ bond: SQLValue, in database: borrowing SQLiteDatabase
  ) throws(StoreError) {
    precondition(key.value.count == 16, "a key has 16 octets")
    // A key of LE Secure Connections is for both roles and replaces all others. A legacy key replaces
    // keys of LE Secure Connections, and the legacy key of the same role.
    try database.run(
      key.isSecureConnections
        ? "DELETE FROM long_term_key WHERE bond = ?"
        : "DELETE FROM long_term_key WHERE bond = ? AND kind >= 2", bond)
    try database.run(
      """
      INSERT OR REPLACE INTO
        long_term_key(bond, central, kind, size, diversifier, random, value)
        VALUES(?, ?, ?, ?, ?, ?, ?)
      """,
      bond, .integer(key.isCentral ? 1 : 0), .integer(Int64(key.kind)),
      .integer(Int64(key.keySize)), .integer(Int64(key.diversifier)),
      .integer(Int64(bitPattern: key.random)), .octets(key.value))
  }

  private static func keep(
    _ key: SignatureKey, _ bond: SQLValue, in database: borrowing SQLiteDatabase
  ) throws(StoreError) {
    precondition(key.value.count == 16, "a key has 16 octets")
    try database.run(
      """
      INSERT INTO signature_key(bond, is_ours, kind, value, counter) VALUES(?, ?, ?, ?, 0)
        ON CONFLICT(bond, is_ours) DO UPDATE SET kind = excluded.kind, value = excluded.value,
          counter = CASE WHEN value = excluded.value THEN counter ELSE 0 END
      """,
      bond, .integer(key.isOurs ? 1 : 0), .integer(Int64(key.kind)), .octets(key.value))
  }

  /// Returns the bonds of an adapter and with a peer, by adapter and then by age; nil for any. Bonds
  /// that are damaged are left out; ``notices`` names them.
  ///
  /// - Throws: ``StoreError``: most often `busy` while another process holds the file for longer
  ///   than 2 s, `full`, `system`, `corrupt`.
  public func bonds(
    of adapter: BluetoothAddress? = nil, with peer: BluetoothAddress? = nil
  ) async throws(StoreError) -> [Bond] {
    try await use { (database) throws(StoreError) in
      try Bond.read(adapter: adapter, peer: peer, in: database)
    }
  }

  /// Returns the bond with a peer; nil if there is none.
  ///
  /// - Throws: as ``bonds(of:with:)`` does, and `damagedRecord` for a damaged bond.
  public func bond(
    adapter: BluetoothAddress, peer: BluetoothAddress
  ) async throws(StoreError) -> Bond? {
    try await use { (database) throws(StoreError) in
      try Bond.read(adapter, peer, in: database)
    }
  }

  /// Removes a bond and everything stored for the peer.
  ///
  /// - Parameter adapter: nil for the bonds of all adapters.
  /// - Returns: whether there was a bond.
  /// - Throws: ``StoreError``: most often `busy` while another process holds the file for longer
  ///   than 2 s, `full`, `system`, `corrupt`.
  @discardableResult
  public func removeBond(
    adapter: BluetoothAddress?, peer: BluetoothAddress
  ) async throws(StoreError) -> Bool {
    try await change { (database) throws(StoreError) in
      try database.run(
        "DELETE FROM peer_database WHERE peer = ?", .text(PeerName(peer).text))
      guard let adapter else {
        return try database.run("DELETE FROM bond WHERE peer = ?", .text("\(peer)")) > 0
      }
      return try Self.removeBond(adapter, peer, in: database) > 0
    }
  }

  @discardableResult
  private static func removeBond(
    _ adapter: BluetoothAddress, _ peer: BluetoothAddress, in database: borrowing SQLiteDatabase
  ) throws(StoreError) -> Int64 {
    try database.run(
      "DELETE FROM bond WHERE adapter = ? AND peer = ?", .text("\(adapter)"), .text("\(peer)"))
  }
}
