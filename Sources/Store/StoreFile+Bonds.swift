import Atto
import Glibc

extension StoreFile {
  /// Keeps a key that pairing has made, and with the first of a peer the bond.
  ///
  /// A key takes the place of the one before it. The counter of a signature key begins at 0; one
  /// that comes again, unchanged, goes on where it was.
  ///
  /// - Throws: ``StoreError/tooManyBonds(limit:)``, and what writing throws. Traps for a key that
  ///   has not 16 octets.
  public func keep(_ key: BondKey, adapter: BluetoothAddress) throws(StoreError) {
    try keep([(key, adapter)])
  }

  /// Keeps all the keys of a pairing, or none of them. Throws and traps as above.
  public func keep(
    _ keys: [(key: BondKey, adapter: BluetoothAddress)]
  ) throws(StoreError) {
    try change { (database) throws(StoreError) in
      for (key, adapter) in keys {
        let bond = try Self.makeBond(adapter, key.peer, in: database)
        switch key {
        case .longTerm(let key): try Self.keep(key, bond, in: database)
        case .identity(let key):
          precondition(key.value.count == 16, "a key has 16 octets")
          try database.run(
            "INSERT OR REPLACE INTO identity_key VALUES(?, ?)", bond, .octets(key.value))
        case .signature(let key): try Self.keep(key, bond, in: database)
        }
      }
    }
  }

  private static func makeBond(
    _ adapter: BluetoothAddress, _ peer: BluetoothAddress, in database: borrowing SQLiteDatabase
  ) throws(StoreError) -> SQLValue {
    if let bond = try find(adapter, peer, in: database) { return bond }
    var count: Int64 = 0
    try database.run("SELECT count(*) FROM bond WHERE adapter = ?", .text("\(adapter)")) {
      (row) throws(StoreError) in count = row.integer(0)
    }
    guard count < bondLimit else { throw .tooManyBonds(limit: bondLimit) }
    try database.run(
      "INSERT INTO bond(adapter, peer, since) VALUES(?, ?, ?)", .text("\(adapter)"),
      .text("\(peer)"), .integer(Int64(time(nil))))
    guard let bond = try find(adapter, peer, in: database) else {
      throw .corrupt(path: database.path, "a bond is not where it was put")
    }
    return bond
  }

  static func find(
    _ adapter: BluetoothAddress, _ peer: BluetoothAddress, in database: borrowing SQLiteDatabase
  ) throws(StoreError) -> SQLValue? {
    var found: Int64?
    try database.run(
      "SELECT id FROM bond WHERE adapter = ? AND peer = ?", .text("\(adapter)"), .text("\(peer)")
    ) { (row) throws(StoreError) in found = row.integer(0) }
    return found.map { .integer($0) }
  }

  private static func keep(
    _ key: LongTermKey, _ bond: SQLValue, in database: borrowing SQLiteDatabase
  ) throws(StoreError) {
    precondition(key.value.count == 16, "a key has 16 octets")
    // A key of Secure Connections is for both roles and ends all others; one of the older kind
    // ends those that are not of its own time.
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

  /// All bonds, or those of one adapter, by adapter and then by age.
  ///
  /// - Throws: ``StoreError``: most often `busy` while another process holds the file for longer
  ///   than 2 s, `full`, `system`, `corrupt`.
  public func bonds(of adapter: BluetoothAddress? = nil) throws(StoreError) -> [Bond] {
    try use { (database) throws(StoreError) in
      // One transaction: what is read belongs together.
      try database.run("BEGIN")
      defer { _ = try? database.run("ROLLBACK") }
      return try Self.readBonds(of: adapter, in: database)
    }
  }

  /// The bond with a peer; nil if there is none.
  ///
  /// - Throws: ``StoreError``: most often `busy` while another process holds the file for longer
  ///   than 2 s, `full`, `system`, `corrupt`.
  public func bond(
    adapter: BluetoothAddress, peer: BluetoothAddress
  ) throws(StoreError) -> Bond? {
    try bonds(of: adapter).first { $0.peer == peer }
  }

  /// Removes a bond with everything that was kept of the peer.
  ///
  /// - Parameter adapter: nil: of all adapters.
  /// - Returns: whether there was one.
  /// - Throws: ``StoreError``: most often `busy` while another process holds the file for longer
  ///   than 2 s, `full`, `system`, `corrupt`.
  @discardableResult
  public func removeBond(
    adapter: BluetoothAddress?, peer: BluetoothAddress
  ) throws(StoreError) -> Bool {
    try change { (database) throws(StoreError) in
      try database.run(
        "DELETE FROM peer_database WHERE peer = ?", .text(PeerName(peer).text))
      guard let adapter else {
        return try database.run("DELETE FROM bond WHERE peer = ?", .text("\(peer)")) > 0
      }
      return try database.run(
        "DELETE FROM bond WHERE adapter = ? AND peer = ?", .text("\(adapter)"), .text("\(peer)"))
        > 0
    }
  }
}

extension BondKey {
  /// The identity address of the peer.
  public var peer: BluetoothAddress {
    switch self {
    case .longTerm(let key): key.peer
    case .identity(let key): key.peer
    case .signature(let key): key.peer
    }
  }
}
