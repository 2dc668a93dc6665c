import Atto
import AttoATT
import AttoGATT
import AttoKernelRadio
import Glibc
import TestSupport
import Testing

@testable import AttoStore
@testable import StoreWorker

/// Records that have changed on the disk are reported, and not used.
@Suite(.oneByOne) struct DamageTests {
  let folder = TemporaryFolder(isInMemory: true)
  private var path: String { folder.file() }

  /// A store with three bonds that have everything, and their databases.
  private func fill() async throws -> (bonds: [Bond], databases: [RemoteDatabase]) {
    let store = try await StoreFile(path: path)
    for peer in 0..<3 {
      let number = UInt32(peer + 7)
      for kind in [.longTermKey, .identity, .signature, .client, .counter, .accepted, .database]
        as [Record.Kind]
      {
        try await Record.keep(Step(kind: kind, peer: peer, number: number), in: store)
      }
    }
    var databases: [RemoteDatabase] = []
    for peer in 0..<3 {
      databases.append(try #require(try await store.database(of: PeerName(Record.peer(peer)))))
    }
    return (try await store.bonds(), databases)
  }

  /// Returns what a store holds that differs from what was stored, and is neither reported nor left
  /// out.
  private func unnoticed(
    _ bonds: [Bond], _ databases: [RemoteDatabase]
  ) async throws(StoreError) -> [String] {
    let store = try await StoreFile(path: path)
    var found: [String] = []
    let sound = try await store.bonds()
    if sound.contains(where: { !bonds.contains($0) }) { found.append("\(sound)") }
    if sound.count < bonds.count, store.notices.isEmpty {
      found.append("only \(sound.count) bonds, without a notice")
    }
    for peer in 0..<3 {
      let database = try await store.database(of: PeerName(Record.peer(peer)))
      if let database, database != databases[peer] { found.append("\(database)") }
    }
    return found
  }

  /// Of stores in which octets have changed, none passes for unchanged with other content.
  @Test func aChangedStoreDoesNotPassForUnchanged() async throws {
    let seed = testSeed()
    var random = SplitMix64(seed: seed)
    let (bonds, databases) = try await fill()
    let good = octets(of: path)
    // Where records are: most of a file is empty, and its first page holds the names of the tables.
    let used = good.indices.filter { $0 >= 4096 && good[$0] != 0 }
    var (passed, refused, reported) = (0, 0, 0)
    for round in 0..<400 {
      var bad = good
      for _ in 0..<(round % 4 + 1) {
        let place = used.randomElement(using: &random)!
        if Bool.random(using: &random) {
          bad[place] ^= 1 << UInt8.random(in: 0...7, using: &random)
        } else {
          bad[place] = UInt8.random(in: 0...255, using: &random)
        }
      }
      write(bad, to: path)
      do throws(StoreError) {
        let found = try await unnoticed(bonds, databases)
        if !found.isEmpty { passed += 1 }
        #expect(found.isEmpty, "seed \(seed), round \(round)")
        reported += 1
      } catch {
        refused += 1
        #expect(error.hint != nil && !"\(error)".contains("SQLite error"), "\(error)")
      }
    }
    print("damage: 400 stores, \(passed) passed for unchanged, \(refused) refused")
    #expect(passed == 0 && reported > 100, "seed \(seed): \(refused) refused")
  }

  /// Each column, changed in one record: that one is reported, all others can be used.
  @Test(arguments: [
    "bond SET since = since + 1 WHERE id = 2",
    "bond SET peer = 'C0:00:00:00:00:09/random' WHERE id = 2",
    "bond SET peer = 'nobody' WHERE id = 2", "long_term_key SET central = 0 WHERE bond = 2",
    "long_term_key SET kind = 1 WHERE bond = 2", "long_term_key SET size = 16 WHERE bond = 2",
    "long_term_key SET diversifier = 1 WHERE bond = 2",
    "long_term_key SET random = random + 1 WHERE bond = 2",
    "long_term_key SET value = zeroblob(16) WHERE bond = 2",
    "identity_key SET value = zeroblob(16) WHERE bond = 2",
    "signature_key SET kind = 2 WHERE bond = 2 AND is_ours = 1",
    "signature_key SET counter = counter - 1 WHERE bond = 2 AND is_ours = 1",
    "signature_key SET counter = counter - 1 WHERE bond = 2 AND is_ours = 0",
    "signature_key SET value = zeroblob(16) WHERE bond = 2",
    "client SET features = features + 1 WHERE bond = 2",
    "client SET hash = zeroblob(16) WHERE bond = 2",
    "configuration SET value = 3 - value % 3 WHERE bond = 2",
    "configuration SET handle = handle + 1 WHERE bond = 2",
    "configuration SET service_hash = zeroblob(16) WHERE bond = 2",
    "configuration SET bond = 1 WHERE bond = 2",
  ]) func aDamagedBondIsNotUsed(_ change: String) async throws {
    let (bonds, databases) = try await fill()
    try execute("UPDATE \(change)", on: path)
    #expect(try await unnoticed(bonds, databases) == [])
    let store = try await StoreFile(path: path)
    let sound = try await store.bonds()
    #expect(sound.contains(bonds[2]) && !sound.contains(bonds[1]))
    let peer = Record.peer(1)
    if !change.hasPrefix("bond SET peer") {
      let error = StoreError.damagedRecord(
        path: path, "the bond of \(Record.adapter) with \(peer)")
      #expect(store.notices.contains { $0.hasPrefix("\(error)\nhint: ") })
      await #expect(throws: error) { try await store.bond(adapter: Record.adapter, peer: peer) }
      await #expect(throws: error) {
        try await store.reserveSignCounters(adapter: Record.adapter, peer: peer)
      }
      await #expect(throws: error) {
        try await store.acceptSignCounter(99, adapter: Record.adapter, peer: peer)
      }
      await #expect(throws: error) {
        try await store.keep(Record.client(3), adapter: Record.adapter, peer: peer)
      }
    }
    // A new pairing replaces it; nothing of it is left.
    let key = BondKey.longTerm(Record.longTermKey(1, 5))
    try await store.keep(key, adapter: Record.adapter)
    let bond = try #require(try await store.bond(adapter: Record.adapter, peer: peer))
    #expect(bond.longTermKeys == [Record.longTermKey(1, 5)])
    #expect(bond.identityKey == nil && bond.ownSignature == nil && bond.client == nil)
  }

  @Test func aDamagedBondCanBeRemoved() async throws {
    _ = try await fill()
    try execute("UPDATE configuration SET value = 3 - value % 3 WHERE bond = 2", on: path)
    let store = try await StoreFile(path: path)
    #expect(try await store.removeBond(adapter: Record.adapter, peer: Record.peer(1)))
    #expect(try await StoreFile(path: path).notices.isEmpty)
    #expect(try await store.bonds().count == 2)
  }

  @Test func aDamagedDatabaseIsDiscoveredAnew() async throws {
    let (_, databases) = try await fill()
    let name = PeerName(Record.peer(1))
    for change in [
      "SET content = substr(content, 1, 30) || x'99' || substr(content, 32)",
      "SET content = substr(content, 1, length(content) - 19)", "SET sum = sum + 1",
    ] {
      try execute("UPDATE peer_database \(change) WHERE peer = 'le:\(Record.peer(1))'", on: path)
      let store = try await StoreFile(path: path)
      #expect(store.notices.count == 1)
      #expect(store.notices.first?.contains("discovered again") == true)
      #expect(try await store.database(of: name) == nil)
      #expect(try await store.database(of: PeerName(Record.peer(2))) == databases[2])
      #expect(try await store.keep(databases[1], of: name))
      #expect(try await StoreFile(path: path).notices.isEmpty)
    }
  }

  @Test func aDamagedRecordOfAnApplicationIsReported() throws {
    do {
      let file = try RecordFile(path: path)
      try file.save([.init("state", "a", [1, 2]), .init("state", "b", [3])], limit: 9)
    }
    try execute("UPDATE record SET content = x'0103' WHERE name = 'a'", on: path)
    let file = try RecordFile(path: path)
    #expect(throws: StoreError.damagedRecord(path: path, "the record \"a\"")) {
      try file.record("state", "a")
    }
    #expect(try file.record("state", "b") == [3])
    try file.save([.init("state", "a", [4])], limit: 9)
    #expect(try file.record("state", "a") == [4])
  }

  /// Tables with other columns are damage, and the error says so without SQLite's words.
  @Test(arguments: [
    "ALTER TABLE client RENAME COLUMN hash TO other", "ALTER TABLE bond DROP COLUMN since",
    "ALTER TABLE identity_key ADD COLUMN more", "ALTER TABLE peer_database RENAME content TO value",
  ]) func wrongColumnsAreDamage(_ change: String) async throws {
    _ = try await fill()
    try execute(change, on: path)
    let content = octets(of: path)
    let table = change.split(separator: " ")[2]
    let error = StoreError.corrupt(path: path, "wrong columns in table \(table)")
    await #expect(throws: error) { try await StoreFile(path: path) }
    #expect(error.hint != nil)
    #expect(holds(path, content))
  }

  /// Changed while the store is open, tables are damage too.
  @Test func tablesThatChangeAreDamage() async throws {
    _ = try await fill()
    let store = try await StoreFile(path: path)
    try execute("DROP TABLE configuration", on: path)
    await #expect(
      throws: StoreError.corrupt(path: path, "its tables are not those of a store")
    ) { try await store.bonds() }
  }

  @Test func everyErrorSaysWhatToDo() {
    for code in [7, 10, 14, 99] as [Int32] {
      let error = StoreError.sqlite(path: "x", code: code, "unknown error")
      #expect(error.hint != nil)
      #expect(code == 99 || !"\(error)".contains("SQLite error"))
    }
  }
}
