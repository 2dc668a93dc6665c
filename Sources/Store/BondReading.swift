import Atto

extension StoreFile {
  /// Reads bonds with all that belongs to them.
  static func readBonds(
    of adapter: BluetoothAddress?, in database: borrowing SQLiteDatabase
  ) throws(StoreError) -> [Bond] {
    var bonds: [Bond] = []
    var places: [Int64: Int] = [:]
    let path = database.path
    try database.run("SELECT id, adapter, peer, since FROM bond ORDER BY adapter, id") {
      (row) throws(StoreError) in
      guard let own = BluetoothAddress(row.text(1)), let peer = BluetoothAddress(row.text(2))
      else { throw .corrupt(path: path, "an address is none") }
      guard adapter == nil || adapter == own else { return }
      places[row.integer(0)] = bonds.count
      bonds.append(Bond(adapter: own, peer: peer, since: row.integer(3)))
    }
    try database.run(
      "SELECT bond, kind, central, size, diversifier, random, value FROM long_term_key"
    ) { (row) throws(StoreError) in
      guard let place = places[row.integer(0)] else { return }
      bonds[place].longTermKeys.append(
        LongTermKey(
          peer: bonds[place].peer, kind: UInt8(truncatingIfNeeded: row.integer(1)),
          isCentral: row.integer(2) != 0, keySize: UInt8(truncatingIfNeeded: row.integer(3)),
          diversifier: UInt16(truncatingIfNeeded: row.integer(4)),
          random: UInt64(bitPattern: row.integer(5)), value: try key(row, 6, path)))
    }
    try database.run("SELECT bond, value FROM identity_key") { (row) throws(StoreError) in
      guard let place = places[row.integer(0)] else { return }
      bonds[place].identityKey = IdentityResolvingKey(
        peer: bonds[place].peer, value: try key(row, 1, path))
    }
    try database.run("SELECT bond, kind, value, counter FROM signature_key") {
      (row) throws(StoreError) in
      guard let place = places[row.integer(0)] else { return }
      let state = Bond.SigningState(
        key: SignatureKey(
          peer: bonds[place].peer, kind: UInt8(truncatingIfNeeded: row.integer(1)),
          value: try key(row, 2, path)),
        counter: UInt32(clamping: row.integer(3)))
      if state.key.isOurs {
        bonds[place].ownSignature = state
      } else {
        bonds[place].peerSignature = state
      }
    }
    try readClients(in: database) { id, record in
      if let place = places[id] { bonds[place].client = record }
    }
    return bonds
  }

  private static func key(
    _ row: borrowing SQLiteRow, _ column: Int32, _ path: String
  ) throws(StoreError) -> [UInt8] {
    let octets = row.octets(column)
    guard octets.count == 16 else { throw .corrupt(path: path, "a key has not 16 octets") }
    return octets
  }
}
