import Atto
import Glibc
import Testing

@testable import Store

/// The file itself: where it is, who may read it, what it must be.
@Suite struct StoreFileTests {
  let folder = Folder()

  @Test func aNewStoreIsItsOwnersAlone() throws {
    let before = umask(0)
    defer { umask(before) }
    let store = try StoreFile(path: folder.file())
    #expect(mode(folder.file()) == 0o600)
    #expect(store.notices.isEmpty)
    #expect(try store.bonds().isEmpty)
    // "SQLite format 3", and the application's number and the schema's version in the header.
    let header = octets(of: folder.file())
    #expect(header[68..<72] == [0x41, 0x74, 0x74, 0x6F])
    #expect(header[60..<64] == [0, 0, 0, 1])
  }

  @Test func aMissingStoreIsNotMadeWhereItIsOnlyLookedFor() throws {
    let path = folder.file()
    #expect(throws: StoreError.missing(path: path)) { try StoreFile(path: path, creates: false) }
    #expect(folder.entries.isEmpty)
    _ = try StoreFile(path: path)
    _ = try StoreFile(path: path, creates: false)
  }

  @Test func aFileThatOthersCouldReadIsMendedAndThatIsTold() throws {
    let path = folder.file()
    _ = try StoreFile(path: path)
    chmod(path, 0o644)
    let store = try StoreFile(path: path)
    #expect(mode(path) == 0o600)
    #expect(store.notices.count == 1)
    #expect(store.notices.first?.contains("mode 644") == true)
    #expect(try StoreFile(path: path).notices.isEmpty)
  }

  @Test func aFolderInWhichOthersMayWriteIsRefused() throws {
    chmod(folder.path, 0o777)
    #expect(throws: StoreError.writableFolder(path: folder.path, mode: 0o777)) {
      try StoreFile(path: folder.file())
    }
    // As /tmp is.
    chmod(folder.path, 0o1777)
    _ = try StoreFile(path: folder.file())
    // Others may look into a folder that a person has named.
    chmod(folder.path, 0o755)
    #expect(try StoreFile(path: folder.file()).notices.isEmpty)
    #expect(mode(folder.path) == 0o755)
  }

  @Test func theUsualFolderIsMadeAndKeptClosed() throws {
    let before = umask(0)
    defer { umask(before) }
    let path = folder.file("atto") + "/store.sqlite"
    #expect(try StorePlace.prepare(path, isNamed: false, creates: true).isEmpty)
    #expect(mode(folder.file("atto")) == 0o700)
    chmod(folder.file("atto"), 0o755)
    #expect(try StorePlace.prepare(path, isNamed: false, creates: true).count == 1)
    #expect(mode(folder.file("atto")) == 0o700)
    unlink(path)
  }

  @Test func whereItUsuallyIs() throws {
    func path(_ user: UInt32, _ variables: [String: String]) throws -> String {
      try StorePlace.usualPath(user: user) { variables[$0] }.path
    }
    #expect(try path(0, ["HOME": "/h"]) == "/var/lib/atto/store.sqlite")
    #expect(try path(7, ["HOME": "/h"]) == "/h/.local/state/atto/store.sqlite")
    #expect(try path(7, ["HOME": "/h", "XDG_STATE_HOME": "/s"]) == "/s/atto/store.sqlite")
    #expect(
      try path(7, ["HOME": "/h", "XDG_STATE_HOME": "s"]) == "/h/.local/state/atto/store.sqlite")
    #expect(try path(0, ["ATTO_STORE": "x"]) == "x")
    #expect(throws: StoreError.noPlace) { try path(7, [:]) }
  }

  @Test func whatIsNoFileIsRefused() throws {
    #expect(throws: StoreError.notAFile(path: folder.path)) {
      try StoreFile(path: folder.path, creates: false)
    }
    #expect(throws: StoreError.system("made", path: "/nowhere/store", errno: ENOENT)) {
      try StoreFile(path: "/nowhere/store")
    }
  }

  /// Files that are no stores keep every octet, and their modes: somebody may need to read or run
  /// them.
  @Test(arguments: [1, 15, 100, 511, 4096, 100_000]) func aForeignFileIsLeftAsItIs(
    _ size: Int
  ) throws {
    let path = folder.file()
    let content = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ 7) }
    write(content, to: path)
    for before in [0o600, 0o755] as [mode_t] {
      chmod(path, before)
      let error = #expect(throws: StoreError.self) { try StoreFile(path: path) }
      #expect(error == .foreign(path: path, "is no SQLite database"))
      #expect(error?.description.contains(path) == true)
      #expect(holds(path, content))
      #expect(mode(path) == before)
    }
  }

  @Test func aDatabaseOfAnotherProgramIsLeftAsItIs() throws {
    for sql in [
      "CREATE TABLE song(title TEXT)", "PRAGMA application_id = 77", "PRAGMA user_version = 1",
    ] {
      let path = folder.file("other-\(sql.count)")
      try execute(sql, on: path)
      chmod(path, 0o644)
      let content = octets(of: path)
      #expect(
        throws: StoreError.foreign(
          path: path, "is a database of another program, not a store of atto")
      ) { try StoreFile(path: path) }
      #expect(holds(path, content))
      #expect(mode(path) == 0o644)
    }
  }

  @Test func aNewerSchemaIsRefused() throws {
    let path = folder.file()
    _ = try StoreFile(path: path)
    try execute("PRAGMA user_version = 2", on: path)
    let content = octets(of: path)
    let error = #expect(throws: StoreError.newer(path: path, version: 2)) {
      try StoreFile(path: path)
    }
    #expect(error?.description.contains("newer atto") == true)
    #expect(holds(path, content))
  }

  /// An empty file is what a crash leaves between its making and its first transaction.
  @Test func anEmptyFileBecomesAStore() throws {
    write([], to: folder.file())
    #expect(try StoreFile(path: folder.file()).bonds().isEmpty)
  }

  /// Damage anywhere ends in a clear error or in a store that still works, and never in a trap;
  /// what was refused has every octet that it had.
  @Test func damageIsNamed() throws {
    let seed = UInt64.random(in: 0 ... .max)
    var random = SplitMix64(seed: seed)
    let path = folder.file()
    do {
      let store = try StoreFile(path: path)
      for number in 0..<40 as Range<UInt32> {
        let peer = BluetoothAddress(UInt64(number))
        try store.keep(
          .identity(
            IdentityResolvingKey(peer: peer, value: [UInt8](repeating: UInt8(number), count: 16))),
          adapter: BluetoothAddress(1))
      }
    }
    let good = octets(of: path)
    var refused = 0
    for _ in 0..<150 {
      var bad = good
      if Bool.random(using: &random) {
        for _ in 0..<Int.random(in: 1...20, using: &random) {
          bad[Int.random(in: 0..<bad.count, using: &random)] ^= UInt8.random(
            in: 1...255, using: &random)
        }
      } else {
        bad.removeLast(Int.random(in: 1..<bad.count, using: &random))
      }
      write(bad, to: path)
      do throws(StoreError) {
        let store = try StoreFile(path: path)
        _ = try store.bonds()
      } catch {
        refused += 1
        switch error {
        case .corrupt, .foreign, .newer, .sqlite: break
        default: Issue.record("seed \(seed): \(error)")
        }
        #expect(holds(path, bad), "seed \(seed): \(error)")
      }
    }
    #expect(refused > 50, "seed \(seed)")
  }

  @Test func aTableThatIsMissingIsDamage() throws {
    let path = folder.file()
    _ = try StoreFile(path: path)
    try execute("DROP TABLE configuration", on: path)
    #expect(throws: StoreError.corrupt(path: path, "it has no table configuration")) {
      try StoreFile(path: path)
    }
  }

  /// Another process is waited for, and named.
  @Test func aStoreThatIsHeldIsToldOf() throws {
    let path = folder.file()
    let store = try StoreFile(path: path)
    let holder = try Worker("hold", path)
    defer { holder.kill() }
    #expect(holder.line() == "held")
    let adapter = BluetoothAddress(1)
    #expect(throws: StoreError.busy(path: path, process: holder.process)) {
      try store.removeBond(adapter: adapter, peer: adapter)
    }
    holder.kill()
    #expect(try !store.removeBond(adapter: adapter, peer: adapter))
  }

  private func keys(_ numbers: ClosedRange<UInt64>) -> [BondKey] {
    numbers.map { number in
      .identity(
        IdentityResolvingKey(
          peer: BluetoothAddress(number), value: [UInt8](repeating: UInt8(number), count: 16)))
    }
  }

  /// What was kept stays, something can be removed, and there is room again.
  @Test func aFullDiskIsToldOf() throws {
    let path = folder.file()
    let store = try StoreFile(path: path)
    let adapter = BluetoothAddress(1)
    try store.use { (database) throws(StoreError) in
      var pages: Int64 = 0
      try database.run("PRAGMA page_count") { (row) throws(StoreError) in pages = row.integer(0) }
      try database.run("PRAGMA max_page_count = \(pages + 1)") { _ throws(StoreError) in }
    }
    var kept = 0
    #expect(throws: StoreError.full(path: path)) {
      for key in keys(1...250) {
        try store.keep(key, adapter: adapter)
        kept += 1
      }
    }
    #expect(kept > 0 && kept < 250)
    #expect(try store.bonds().count == kept)
    #expect(try StoreFile(path: path).bonds().count == kept)
    #expect(try store.removeBond(adapter: adapter, peer: BluetoothAddress(1)))
    try store.keep(keys(1...1)[0], adapter: adapter)
    #expect("\(StoreError.full(path: path))".contains("make some"))
  }

  @Test func whatCannotBeChangedIsToldOf() throws {
    let path = folder.file()
    let store = try StoreFile(path: path)
    let adapter = BluetoothAddress(1)
    try store.keep(keys(1...1)[0], adapter: adapter)
    // As of a file system that is mounted read-only; root may write to all others.
    _ = try store.use { (database) throws(StoreError) in try database.run("PRAGMA query_only = 1") }
    #expect(throws: StoreError.readOnly(path: path)) {
      try store.keep(keys(2...2)[0], adapter: adapter)
    }
    #expect(throws: StoreError.readOnly(path: path)) {
      try store.removeBond(adapter: adapter, peer: BluetoothAddress(1))
    }
    #expect(try store.bonds().count == 1)
    #expect("\(StoreError.readOnly(path: path))".contains("remount,rw"))
  }

  @Test func twoStoresOnOneFileSeeTheSame() throws {
    let one = try StoreFile(path: folder.file())
    let other = try StoreFile(path: folder.file())
    let key = IdentityResolvingKey(
      peer: BluetoothAddress(2), value: [UInt8](repeating: 9, count: 16))
    try one.keep(.identity(key), adapter: BluetoothAddress(1))
    #expect(try other.bonds().map(\.identityKey) == [key])
  }
}
