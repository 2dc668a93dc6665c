import Atto
import AttoGATT

/// What the local server remembers of bonded clients. Vol 3, Part G, 2.5.2 and 3.3.3.3.
extension StoreFile {
  /// Stores a client's record in place of the previous one.
  ///
  /// - Returns: false, and nothing is stored, if the peer is not bonded.
  /// - Throws: ``StoreError``: most often `busy` while another process holds the file for longer
  ///   than 2 s, `full`, `system`, `corrupt`.
  @discardableResult
  public func keep(
    _ record: ClientRecord, adapter: BluetoothAddress, peer: BluetoothAddress
  ) async throws(StoreError) -> Bool {
    try await change { (database) throws(StoreError) in
      try record.write(adapter: adapter, peer: peer, in: database)
    }
  }
}

extension ClientRecord {
  /// Writes the record of a bond; false if there is no such bond.
  func write(
    adapter: BluetoothAddress, peer: BluetoothAddress, in database: borrowing SQLiteDatabase
  ) throws(StoreError) -> Bool {
    guard let bond = try StoreFile.find(adapter, peer, in: database) else { return false }
    try database.run(
      "INSERT OR REPLACE INTO client VALUES(?, ?, ?)", bond, .integer(Int64(features.rawValue)),
      .octets(databaseHash))
    try database.run("DELETE FROM configuration WHERE bond = ?", bond)
    for (handle, value) in configurations {
      try database.run(
        "INSERT INTO configuration VALUES(?, ?, ?, ?)", bond, .integer(Int64(handle.rawValue)),
        .integer(Int64(value.rawValue)), .octets(serviceHashes[handle] ?? []))
    }
    try SealedTable.bonds.seal(bond, in: database)
    return true
  }

  /// Reads the record of a bond; nil if there is none.
  static func read(
    bond: SQLValue, in database: borrowing SQLiteDatabase
  ) throws(StoreError) -> ClientRecord? {
    var record: ClientRecord?
    try database.run("SELECT features, hash FROM client WHERE bond = ?", bond) {
      (row) throws(StoreError) in
      record = ClientRecord(
        features: ClientSupportedFeatures(rawValue: UInt8(truncatingIfNeeded: row.integer(0))),
        databaseHash: row.octets(1))
    }
    guard record != nil else { return nil }
    try database.run("SELECT handle, value, service_hash FROM configuration WHERE bond = ?", bond) {
      (row) throws(StoreError) in
      let handle = AttributeHandle(UInt16(truncatingIfNeeded: row.integer(0)))
      record?.configurations[handle] = ClientCharacteristicConfiguration(
        rawValue: UInt16(truncatingIfNeeded: row.integer(1)))
      record?.serviceHashes[handle] = row.octets(2)
    }
    return record
  }
}
