import Atto
import AttoATT
import AttoKernelRadio
import Glibc
import Synchronization
import TestSupport
import Testing

@testable import AttoStore
@testable import StoreWorker

/// The file: its path, its permissions, and its checks.
@Suite(.oneByOne) struct StoreFileTests {
  let folder = TemporaryFolder(isInMemory: true)

  @Test func aNewStoreIsReadableByItsOwnerOnly() async throws {
    let before = umask(0)
    defer { umask(before) }
    let store = try await StoreFile(path: folder.file())
    #expect(mode(folder.file()) == 0o600)
    #expect(store.notices.isEmpty)
    #expect(try await store.bonds().isEmpty)
    // The application ID and the version of the schema in the header.
    let header = octets(of: folder.file())
    #expect(header[68..<72] == [0x41, 0x74, 0x74, 0x6F])
    #expect(header[60..<64] == [0, 0, 0, 2])
  }

  @Test func aMissingStoreIsCreatedOnlyOnRequest() async throws {
    let path = folder.file()
    await #expect(throws: StoreError.missing(path: path)) {
      try await StoreFile(path: path, creates: false)
    }
    #expect(folder.entries.isEmpty)
    _ = try await StoreFile(path: path)
    _ = try await StoreFile(path: path, creates: false)
  }

  @Test func aStoreThatIsOpenedLaterTriesAgain() async throws {
    let path = folder.file("none/store")
    let store = try StoreFile(openedLater: path)
    let missing = StoreError.system("created", path: path, errno: ENOENT)
    await #expect(throws: missing) { try await store.check() }
    await #expect(throws: missing) { _ = try await store.bonds() }
    #expect(missing.hint == "create the directory \(folder.file("none"))")
    mkdir(folder.file("none"), 0o700)
    try await store.check()
    #expect(try await store.bonds().isEmpty)
    let content = octets(of: path)
    try await store.check()
    // SQLite counts changes in the header.
    #expect(octets(of: path).dropFirst(100) == content.dropFirst(100))
  }

  /// Keys of pairings while the store fails are stored later, in their order.
  @Test func keysWaitForAStoreThatFails() async throws {
    let store = try StoreFile(openedLater: folder.file("none/store"))
    let kept = Mutex<[BondKey]>([])
    let failures = Mutex<[StoreError]>([])
    let heard = HeardKeys(
      store, .shared, whenKept: { key in kept.withLock { $0.append(key) } },
      onFailure: { error in failures.withLock { $0.append(error) } })
    func storing() async -> StoreError? {
      await withCheckedContinuation { continuation in
        heard.store { continuation.resume(returning: $0) }
      }
    }
    let keys = (1...3).map { BondKey.longTerm(Record.longTermKey($0, 5)) }
    heard.add(keys[0], Record.adapter)
    for _ in 0..<3 { #expect(await storing() != nil) }
    heard.add(keys[1], Record.adapter)
    #expect(await storing() != nil)
    // Each failure of a new key is told once.
    #expect(failures.withLock { $0.count } == 2)
    mkdir(folder.file("none"), 0o700)
    heard.add(keys[2], Record.adapter)
    #expect(await storing() == nil)
    #expect(kept.withLock { $0 } == keys)
    #expect(try await store.bonds().count == 3)
    #expect(await storing() == nil)
    #expect(kept.withLock { $0.count } == 3)
  }

  @Test func aReadableFileIsClosedWithANotice() async throws {
    let path = folder.file()
    _ = try await StoreFile(path: path)
    chmod(path, 0o644)
    let store = try await StoreFile(path: path)
    #expect(mode(path) == 0o600)
    #expect(store.notices.count == 1)
    #expect(store.notices.first?.contains("mode 644") == true)
    #expect(try await StoreFile(path: path).notices.isEmpty)
  }

  @Test func aDirectoryThatOthersMayWriteToIsRefused() async throws {
    chmod(folder.path, 0o777)
    await #expect(throws: StoreError.writableFolder(path: folder.path, mode: 0o777)) {
      try await StoreFile(path: folder.file())
    }
    // Like /tmp, where others could put a journal beside the store.
    chmod(folder.path, 0o1777)
    let error = await #expect(throws: StoreError.writableFolder(path: folder.path, mode: 0o1777)) {
      try await StoreFile(path: folder.file())
    }
    #expect(error?.hint == "name a file in a directory of your own")
    #expect(folder.entries.isEmpty)
    // A directory of one's own there is well.
    mkdir(folder.file("own"), 0o700)
    _ = try await StoreFile(path: folder.file("own/store"))
    // Those above it count as well, also where a symbolic link leads into it.
    let above = StoreError.writableFolder(path: folder.path, mode: 0o702)
    chmod(folder.path, 0o702)
    symlink(folder.file("own"), folder.file("link"))
    for path in [folder.file("own/store"), folder.file("link/store")] {
      await #expect(throws: above) { try await StoreFile(path: path) }
      #expect(throws: above) { try RecordFile(path: path) }
      #expect(throws: above) { try StorePlace.prepare(path, isNamed: false, creates: true) }
    }
    // A directory named by the user may be readable by others.
    chmod(folder.path, 0o755)
    #expect(try await StoreFile(path: folder.file()).notices.isEmpty)
    #expect(mode(folder.path) == 0o755)
  }

  /// With a umask of 002, whose users have groups of their own, directories are writable by that
  /// group.
  @Test func aGroupThatHoldsOnlyTheOwnerIsNobodyElse() async throws {
    let accounts = [
      "root:x:0:0:root:/:/bin/sh", "ann:x:1000:1000::/:/bin/sh", "broken",
    ]
    let groups = ["ann:x:1000:", "staff:x:50:ann", "odd:x"]
    func isPrivate(
      _ group: UInt32, more: [String] = [], members: String? = nil, of user: UInt32 = 1000
    ) -> Bool {
      PrivateGroup.isPrivate(
        group, of: user, accounts: accounts + more,
        groups: members.map { ["ann:x:1000:\($0)"] } ?? groups)
    }
    #expect(isPrivate(1000))
    #expect(isPrivate(1000, members: "ann"))
    #expect(!isPrivate(1000, members: "ann,bob"))
    #expect(!isPrivate(1000, more: ["bob:x:1001:1000::/:/bin/sh"]))
    #expect(!isPrivate(1000, of: 0))
    // A group that is not the user's primary one, and one that this machine does not know.
    #expect(!isPrivate(50))
    #expect(!isPrivate(77))
    #expect(!PrivateGroup.isPrivate(1000, of: 1000, accounts: accounts, groups: []))

    chmod(folder.path, 0o770)
    if PrivateGroup.isPrivate(getegid(), of: geteuid()) {
      _ = try await StoreFile(path: folder.file())
    } else {
      await #expect(throws: StoreError.writableFolder(path: folder.path, mode: 0o770)) {
        try await StoreFile(path: folder.file())
      }
    }
  }

  @Test func aDirectoryOfAnotherUserIsRefused() throws {
    // Another user owns it, or this one seems to be another.
    let isGiven = chown(folder.path, 12345, 12345) == 0
    let user = isGiven ? geteuid() : geteuid() + 1
    let owner = isGiven ? 12345 : geteuid()
    for isNamed in [true, false] {
      #expect(throws: StoreError.foreignOwner(path: folder.path, user: owner)) {
        try StorePlace.prepare(folder.file(), isNamed: isNamed, creates: true, user: user)
      }
    }
    #expect(folder.entries.isEmpty)
  }

  @Test(.enabled(if: geteuid() == 0, "only root can give a file away"))
  func aFileOfAnotherUserIsRefused() async throws {
    _ = try await StoreFile(path: folder.file())
    for path in [folder.file(), folder.file() + "-journal", folder.file() + "-wal"] {
      if access(path, F_OK) != 0 { write([], to: path) }
      chown(path, 12345, 12345)
      await #expect(throws: StoreError.foreignOwner(path: path, user: 12345)) {
        try await StoreFile(path: folder.file())
      }
      chown(path, 0, 0)
    }
    // The directory above, although the one that holds the store is ours.
    mkdir(folder.file("own"), 0o700)
    chown(folder.path, 12345, 12345)
    await #expect(throws: StoreError.foreignOwner(path: folder.path, user: 12345)) {
      try await StoreFile(path: folder.file("own/store"))
    }
  }

  @Test func theDefaultDirectoryIsCreatedAndClosed() throws {
    let before = umask(0)
    defer { umask(before) }
    let path = folder.file("atto") + "/store.sqlite"
    #expect(try StorePlace.prepare(path, isNamed: false, creates: true).notices.isEmpty)
    #expect(mode(folder.file("atto")) == 0o700)
    chmod(folder.file("atto"), 0o755)
    #expect(try StorePlace.prepare(path, isNamed: false, creates: true).notices.count == 1)
    #expect(mode(folder.file("atto")) == 0o700)
    unlink(path)
  }

  @Test func theDefaultPath() throws {
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

  @Test func otherKindsOfFilesAreRefused() async throws {
    mkdir(folder.file("directory"), 0o700)
    await #expect(throws: StoreError.notAFile(path: folder.file("directory"))) {
      try await StoreFile(path: folder.file("directory"), creates: false)
    }
    _ = try await StoreFile(path: folder.file())
    symlink(folder.file(), folder.file("link"))
    symlink(folder.file("none"), folder.file("dangling"))
    for name in ["link", "dangling"] {
      await #expect(throws: StoreError.notAFile(path: folder.file(name))) {
        try await StoreFile(path: folder.file(name))
      }
    }
    for ending in ["-journal", "-wal", "-shm"] {
      symlink("/nowhere", folder.file() + ending)
      await #expect(throws: StoreError.notAFile(path: folder.file() + ending)) {
        try await StoreFile(path: folder.file())
      }
      unlink(folder.file() + ending)
    }
    await #expect(throws: StoreError.system("created", path: "/nowhere/store", errno: ENOENT)) {
      try await StoreFile(path: "/nowhere/store")
    }
  }

  /// Files that are not stores keep their contents and modes.
  @Test(arguments: [1, 15, 100, 511, 4096, 100_000]) func aForeignFileIsNotChanged(
    _ size: Int
  ) async throws {
    let path = folder.file()
    let content = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ 7) }
    write(content, to: path)
    for before in [0o600, 0o755] as [mode_t] {
      chmod(path, before)
      let error = await #expect(throws: StoreError.self) { try await StoreFile(path: path) }
      #expect(error == .foreign(path: path, "is not an SQLite database"))
      #expect(error?.description.contains(path) == true)
      #expect(holds(path, content))
      #expect(mode(path) == before)
    }
  }

  @Test func aDatabaseOfAnotherProgramIsNotChanged() async throws {
    for sql in [
      "CREATE TABLE song(title TEXT)", "PRAGMA application_id = 77", "PRAGMA user_version = 1",
    ] {
      let path = folder.file("other-\(sql.count)")
      try execute(sql, on: path)
      chmod(path, 0o644)
      let content = octets(of: path)
      await #expect(
        throws: StoreError.foreign(path: path, "is a database of another program")
      ) { try await StoreFile(path: path) }
      #expect(holds(path, content))
      #expect(mode(path) == 0o644)
    }
  }

  @Test func aNewerSchemaIsRefused() async throws {
    let path = folder.file()
    _ = try await StoreFile(path: path)
    try execute("PRAGMA user_version = 3", on: path)
    let content = octets(of: path)
    let error = await #expect(throws: StoreError.newer(path: path, version: 3)) {
      try await StoreFile(path: path)
    }
    #expect(error?.description.contains("newer version") == true)
    #expect(holds(path, content))
  }

  /// A crash between creation and the first transaction leaves an empty file.
  @Test func anEmptyFileBecomesAStore() async throws {
    write([], to: folder.file())
    #expect(try await StoreFile(path: folder.file()).bonds().isEmpty)
  }

  /// Damage ends in an error or in a working store, never in a trap. A refused file is not changed.
  @Test func damageIsReported() async throws {
    let seed = testSeed()
    var random = SplitMix64(seed: seed)
    let path = folder.file()
    do {
      let store = try await StoreFile(path: path)
      for number in 0..<40 as Range<UInt32> {
        let peer = BluetoothAddress(UInt64(number))
        try await store.keep(
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
        let store = try await StoreFile(path: path)
        _ = try await store.bonds()
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

  @Test func aMissingTableIsDamage() async throws {
    let path = folder.file()
    _ = try await StoreFile(path: path)
    try execute("DROP TABLE configuration", on: path)
    await #expect(throws: StoreError.corrupt(path: path, "missing table configuration")) {
      try await StoreFile(path: path)
    }
  }

  /// The store waits for another process, then names it.
  @Test func aLockedStoreIsReported() async throws {
    let path = folder.file()
    let store = try await StoreFile(path: path)
    let holder = try Worker("hold", path)
    defer { holder.kill() }
    #expect(holder.line() == "held")
    let adapter = BluetoothAddress(1)
    await #expect(throws: StoreError.busy(path: path, process: holder.process)) {
      try await store.removeBond(adapter: adapter, peer: adapter)
    }
    holder.kill()
    #expect(try await !store.removeBond(adapter: adapter, peer: adapter))
  }

  private func keys(_ numbers: ClosedRange<UInt64>) -> [BondKey] {
    numbers.map { number in
      .identity(
        IdentityResolvingKey(
          peer: BluetoothAddress(number), value: [UInt8](repeating: UInt8(number), count: 16)))
    }
  }

  /// Stored records stay, and removing one makes room.
  @Test func aFullDiskIsReported() async throws {
    let path = folder.file()
    let store = try await StoreFile(path: path)
    let adapter = BluetoothAddress(1)
    try await store.use { (database) throws(StoreError) in
      var pages: Int64 = 0
      try database.run("PRAGMA page_count") { (row) throws(StoreError) in pages = row.integer(0) }
      try database.run("PRAGMA max_page_count = \(pages + 1)") { _ throws(StoreError) in }
    }
    var kept = 0
    await #expect(throws: StoreError.full(path: path)) {
      for key in keys(1...250) {
        try await store.keep(key, adapter: adapter)
        kept += 1
      }
    }
    #expect(kept > 0 && kept < 250)
    #expect(try await store.bonds().count == kept)
    #expect(try await StoreFile(path: path).bonds().count == kept)
    #expect(try await store.removeBond(adapter: adapter, peer: BluetoothAddress(1)))
    try await store.keep(keys(1...1)[0], adapter: adapter)
    #expect(StoreError.full(path: path).hint?.contains("free some") == true)
  }

  @Test func aReadOnlyStoreIsReported() async throws {
    let path = folder.file()
    let store = try await StoreFile(path: path)
    let adapter = BluetoothAddress(1)
    try await store.keep(keys(1...1)[0], adapter: adapter)
    // Like a read-only file system; root may write to any other.
    _ = try await store.use { (database) throws(StoreError) in
      try database.run("PRAGMA query_only = 1")
    }
    await #expect(throws: StoreError.readOnly(path: path)) {
      try await store.keep(keys(2...2)[0], adapter: adapter)
    }
    await #expect(throws: StoreError.readOnly(path: path)) {
      try await store.removeBond(adapter: adapter, peer: BluetoothAddress(1))
    }
    #expect(try await store.bonds().count == 1)
    #expect(StoreError.readOnly(path: path).hint?.contains("remount,rw") == true)
    await #expect(throws: StoreError.readOnly(path: path)) { try await store.check() }
    // It is opened again.
    try await store.check()
  }

  @Test func twoStoresOnOneFileAgree() async throws {
    let one = try await StoreFile(path: folder.file())
    let other = try await StoreFile(path: folder.file())
    let key = IdentityResolvingKey(
      peer: BluetoothAddress(2), value: [UInt8](repeating: 9, count: 16))
    try await one.keep(.identity(key), adapter: BluetoothAddress(1))
    #expect(try await other.bonds().map(\.identityKey) == [key])
  }
}
