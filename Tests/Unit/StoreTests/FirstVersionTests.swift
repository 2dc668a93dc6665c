import Atto
import AttoKernelRadio
import Glibc
import TestSupport
import Testing

@testable import AttoStore
@testable import StoreWorker

/// Stores that were written before records had checksums.
@Suite(.oneByOne) struct FirstVersionTests {
  let folder = TemporaryFolder(isInMemory: true)

  /// What that version has written.
  private static let statements = [
    "PRAGMA application_id = 1098151023", "PRAGMA user_version = 1",
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
    "INSERT INTO bond VALUES(9, '00:AA:01:00:00:00', 'C0:00:00:00:00:00/random', 1795362227)",
    "INSERT INTO bond VALUES(13, '00:AA:01:00:00:00', 'C0:00:00:00:00:01/random', 1795362228)",
    """
    INSERT INTO long_term_key
      VALUES(9, 1, 0, 10, 4893, 21015275044863, x'1d1300001c1201011f1102021e100303')
    """,
    "INSERT INTO identity_key VALUES(9, x'46130000471201014411020245100303')",
    "INSERT INTO identity_key VALUES(13, x'44130000451201014611020247100303')",
    "INSERT INTO signature_key VALUES(9, 0, 1, x'01000000000101010302020202030303', 0)",
    "INSERT INTO signature_key VALUES(9, 1, 0, x'00000000010101010202020203030303', 3)",
    "INSERT INTO client VALUES(9, 5, x'35130000341201013711020236100303')",
    "INSERT INTO configuration VALUES(9, 24, 2, x'36130000371201013411020235100303')",
    "INSERT INTO configuration VALUES(9, 31, 3, x'37130000361201013511020234100303')",
    "INSERT INTO configuration VALUES(9, 38, 1, x'38130000391201013a1102023b100303')",
    "INSERT INTO peer_database VALUES('le:C0:00:00:00:00:00/random', 1795362227, x'0100')",
    """
    CREATE TABLE record(
      id INTEGER PRIMARY KEY,
      kind TEXT NOT NULL,
      name TEXT NOT NULL,
      content BLOB NOT NULL,
      UNIQUE(kind, name))
    """,
    "INSERT INTO record VALUES(1, 'state', 'a', x'0102')",
  ]

  /// Makes a store of bonds, or with the records of an application.
  static func make(_ path: String, withRecords: Bool = false) throws {
    for sql in statements.dropLast(withRecords ? 0 : 2) { try execute(sql, on: path) }
    chmod(path, 0o600)
  }

  static func check(_ path: String) async throws {
    let store = try await StoreFile(path: path)
    #expect(store.notices == [])
    var bonds = try await store.bonds()
    #expect(bonds.map(\.since) == [1_795_362_227, 1_795_362_228])
    for index in bonds.indices { bonds[index].since = 0 }
    let contents = [
      Contents(
        longTermKey: 4893, identity: 4934, isSigning: true, counter: 3, accepted: 0, client: 4917),
      Contents(identity: 4932),
    ]
    #expect(bonds == [contents[0].bond(0), contents[1].bond(1)])
    // Nothing vouches for a database of that version, and it costs one discovery.
    #expect(try await !store.hasDatabase(of: PeerName(Record.peer(0))))
    #expect(try await store.keep(Record.database(3), of: PeerName(Record.peer(0))))
    let counters = try await store.reserveSignCounters(
      adapter: Record.adapter, peer: Record.peer(0))
    #expect(counters.counters == 3..<4)
  }

  @Test func bondsOfTheFirstVersionStay() async throws {
    try Self.make(folder.file())
    try await Self.check(folder.file())
    #expect(octets(of: folder.file())[60..<64] == [0, 0, 0, 2])
  }

  @Test func recordsOfTheFirstVersionStay() async throws {
    try Self.make(folder.file(), withRecords: true)
    #expect(try RecordFile(path: folder.file()).record("state", "a") == [1, 2])
    try await Self.check(folder.file())
    #expect(try RecordFile(path: folder.file()).record("state", "a") == [1, 2])
  }

  /// A damaged store of that version is not changed.
  @Test func aDamagedFirstVersionIsNotChanged() async throws {
    try Self.make(folder.file())
    try execute("DROP TABLE client", on: folder.file())
    let content = octets(of: folder.file())
    await #expect(throws: StoreError.self) { try await StoreFile(path: folder.file()) }
    #expect(holds(folder.file(), content))
  }
}
