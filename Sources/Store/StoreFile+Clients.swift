import Atto

/// What our server remembers of bonded clients. Vol 3, Part G, 2.5.2 and 3.3.3.3.
extension StoreFile {
  /// Keeps a client's record in place of the one before.
  ///
  /// - Returns: false, and nothing kept, if the peer is not bonded.
  /// - Throws: ``StoreError``: most often `busy` while another process holds the file for longer
  ///   than 2 s, `full`, `system`, `corrupt`.
  @discardableResult
  public func keep(
    _ record: ClientRecord, adapter: BluetoothAddress, peer: BluetoothAddress
  ) throws(StoreError) -> Bool {
    try change { (database) throws(StoreError) in
      guard let bond = try Self.find(adapter, peer, in: database) else { return false }
      try database.run(
        "INSERT OR REPLACE INTO client VALUES(?, ?, ?)", bond,
        .integer(Int64(record.features.rawValue)), .octets(record.databaseHash))
      try database.run("DELETE FROM configuration WHERE bond = ?", bond)
      for (handle, value) in record.configurations {
        try database.run(
          "INSERT INTO configuration VALUES(?, ?, ?, ?)", bond, .integer(Int64(handle.rawValue)),
          .integer(Int64(value.rawValue)), .octets(record.serviceHashes[handle] ?? []))
      }
      return true
    }
  }

  static func readClients(
    in database: borrowing SQLiteDatabase, _ take: (Int64, ClientRecord) -> Void
  ) throws(StoreError) {
    var records: [Int64: ClientRecord] = [:]
    try database.run("SELECT bond, features, hash FROM client") { (row) throws(StoreError) in
      records[row.integer(0)] = ClientRecord(
        features: ClientSupportedFeatures(rawValue: UInt8(truncatingIfNeeded: row.integer(1))),
        databaseHash: row.octets(2))
    }
    try database.run("SELECT bond, handle, value, service_hash FROM configuration") {
      (row) throws(StoreError) in
      let handle = AttributeHandle(UInt16(truncatingIfNeeded: row.integer(1)))
      records[row.integer(0)]?.configurations[handle] = ClientCharacteristicConfiguration(
        rawValue: UInt16(truncatingIfNeeded: row.integer(2)))
      records[row.integer(0)]?.serviceHashes[handle] = row.octets(3)
    }
    for (bond, record) in records { take(bond, record) }
  }
}
