import Atto

/// What is said of damaged records when a store is opened.
enum Damage {
  /// Returns messages for the user.
  ///
  /// Nothing is changed, except that a bond whose address cannot be read is removed: no command could
  /// name it.
  static func notices(in database: borrowing SQLiteDatabase) throws(StoreError) -> [String] {
    let path = database.path
    var notices: [String] = []
    var nameless: [SQLValue] = []
    let databases = try database.reading { () throws(StoreError) in
      for id in try SealedTable.bonds.keys(in: database)
      where try !SealedTable.bonds.isSound(id, in: database) {
        try database.run("SELECT adapter, peer FROM bond WHERE id = ?", id) {
          (row) throws(StoreError) in
          guard let own = BluetoothAddress(row.text(0)), let peer = BluetoothAddress(row.text(1))
          else { return nameless.append(id) }
          let error = StoreError.damagedBond(own, peer, path)
          notices.append("\(error)\nhint: \(error.hint ?? "")")
        }
      }
      var count = 0
      for peer in try SealedTable.databases.keys(in: database)
      where try !SealedTable.databases.isSound(peer, in: database) {
        count += 1
      }
      return count
    }
    for id in nameless {
      // It remains where the file cannot be written, or another process holds it.
      _ = try? database.run("DELETE FROM bond WHERE id = ?", id)
      notices.append(
        "a bond in \(path) was damaged, even its address, and is removed\nhint: pair again")
    }
    if databases > 0 {
      notices.append(
        "saved databases of peers in \(path) are damaged: \(databases); they are discovered again")
    }
    return notices
  }
}
